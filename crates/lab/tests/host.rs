//! This computer as a machine: the conformance suite, and what programs can do
//! here. No real duration is asserted beyond "never early"; a test that does
//! not end is a failure too.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use punctual_core::conformance::{Invariant, Trial, Violation, check, known};
use punctual_core::machine::{Sample, ThreadObservations};
use punctual_core::probe::OsClock;
use punctual_core::program::{Due, Op, SpawnKind, Subject};
use punctual_core::setting::{Power, Priority, Requester};
use punctual_core::strategies::{Any, Defaults};
use punctual_core::wait::{Strategy, Turn, Wake};
use punctual_core::{
    Event, Goal, Machine, Method, Nanos, Observations, Probe, Program, Rate, Reason, Refusal,
    Setting, Spec,
};
use punctual_lab::host::{HostMachine, ProcessCommand, Stop};
use punctual_sys::wait::Sleeper;
use punctual_sys::{Host, Tick};

fn host() -> HostMachine {
    HostMachine::new(Stop::new())
}

fn run(program: &Program) -> Observations {
    host().run(program).unwrap()
}

/// A nap that took 1 ms, a hundred times: enough for `precise` to nap in waits
/// for which it is too cautious at first.
fn taught(spec: Spec) -> Any {
    let mut strategy = spec.build();
    let now = Tick::from_ns(0);
    let goal = Goal::<Host>::until(now + Nanos::from_ms(3));
    let nap = Wake {
        asked: Nanos::from_ms(1),
        slept: Nanos::from_ms(1),
        now,
        reason: Reason::Timer,
        cpu: None,
    };
    for _ in 0..100 {
        strategy.next(&goal, &Turn::Woke(nap));
    }
    strategy
}

#[test]
fn a_thread_begins_with_what_its_strategy_has_learned_and_tells_what_it_learns() {
    let granted = Sleeper::new().prepare(Method::Sleep).unwrap();
    let spec = Spec::parse("precise", Defaults::ELSEWHERE).unwrap();
    let spec = spec.with_method(granted);
    let learn = |subject| {
        let program = Program {
            subjects: vec![subject, peer("idle")],
            ops: vec![wait(Nanos::from_ms(3))],
        };
        let mut machine = host().with_peer("idle", || Box::new(|_| ()));
        let seen = machine.run(&program).unwrap();
        let thread = seen.threads.into_iter().next().unwrap();
        (samples(&thread)[0].outcome.naps, thread.learned)
    };
    let (naps, learned) = learn(Subject::Strategy(spec));
    assert_eq!((naps, learned), (0, vec![Some(spec.build()), None]));
    let taught = taught(spec);
    let (naps, learned) = learn(Subject::Learned(spec, Box::new(taught.clone())));
    assert!(naps > 0);
    assert_eq!(learned.len(), 2);
    assert!(
        learned[0].is_some() && learned[0] != Some(taught),
        "{learned:?}"
    );
    assert_eq!(learned[1], None);
}

/// A program that has `subject` as its subject 0.
fn with(subject: Subject, ops: Vec<Op>) -> Program {
    Program {
        subjects: vec![subject],
        ops,
    }
}

fn system(ops: Vec<Op>) -> Program {
    with(Subject::Strategy(Spec::ALL[0]), ops)
}

fn plain(ops: Vec<Op>) -> Program {
    Program {
        subjects: vec![],
        ops,
    }
}

fn peer(name: &str) -> Subject {
    Subject::Peer(name.to_owned())
}

fn wait(length: Nanos) -> Op {
    Op::Wait {
        with: 0,
        due: Due::After(length),
        or: None,
    }
}

fn times(times: u64, body: Vec<Op>) -> Op {
    Op::Loop { times, body }
}

fn forever(body: Vec<Op>) -> Op {
    times(u64::MAX, body)
}

fn spawn(program: Program) -> Op {
    Op::Spawn {
        name: String::new(),
        kind: SpawnKind::Thread,
        program,
    }
}

fn samples(thread: &ThreadObservations) -> Vec<Sample> {
    let sections = thread.sections.iter();
    sections
        .flat_map(|section| section.samples.clone())
        .collect()
}

/// What the suite finds on this computer, which anything may disturb: there is
/// no bound on a spin, and nothing repeats.
fn violations(spec: Spec, length: Nanos, waits: u64) -> Vec<Violation> {
    let trial = Trial {
        length,
        waits,
        clock_step: None,
        repeatable: false,
    };
    check(&mut || Box::new(host()), spec, &trial).unwrap()
}

fn assert_conforms(specs: impl Iterator<Item = Spec>, length: Nanos, waits: u64) {
    for spec in specs {
        let seen = violations(spec, length, waits);
        let unexpected: Vec<_> = seen
            .iter()
            .filter(|v| !known(spec).contains(&v.invariant))
            .collect();
        assert!(unexpected.is_empty(), "{spec}: {unexpected:?}");
    }
}

fn adapts(spec: &Spec) -> bool {
    matches!(spec, Spec::Adaptive { .. })
}

/// Noise cannot make this fail. In a wait of 2 ms `system`, `fixed-margin` and
/// `max-nap` take their first nap before anything can have gone wrong, so they
/// are never locked out, and no nap of a strategy ends its wait early.
#[test]
fn every_strategy_conforms_in_short_waits() {
    let others = Spec::ALL.into_iter().filter(|spec| !adapts(spec));
    assert_conforms(others, Nanos::from_ms(2), 20);
}

/// However late its naps have been, `adaptive` tries one in every 128 waits
/// (without ticks, which it cannot believe in here: `tests/adaptive` of the core
/// holds it to that), so there is one in a quarter of so many.
#[test]
fn adaptive_conforms_in_short_waits() {
    let adaptive = Spec::ALL.into_iter().filter(adapts);
    assert_conforms(adaptive, Nanos::from_ms(1), 4 * 129);
}

/// Below their first estimate of 5 ms the article's functions only spin. Above
/// it they nap here, as often as they are known to.
#[test]
fn every_strategy_conforms_in_waits_that_the_articles_functions_nap_in() {
    let others = Spec::ALL.into_iter().filter(|spec| !adapts(spec));
    assert_conforms(others, Nanos::from_ms(8), 12);
}

#[test]
fn waits_shorter_than_the_first_estimate_lock_precise_out_here_too() {
    let precise = Spec::parse("precise", Defaults::ELSEWHERE).unwrap();
    let seen: Vec<_> = violations(precise, Nanos::from_ms(2), 8)
        .iter()
        .map(|v| v.invariant)
        .collect();
    assert_eq!(seen, [Invariant::NoLockOut]);
}

#[test]
fn every_method_of_this_system_is_never_early_in_a_wait() {
    for method in Method::ALL {
        let spec = Spec::System { method };
        let program = with(
            Subject::Strategy(spec),
            vec![times(3, vec![wait(Nanos::from_us(300))])],
        );
        if host().check(&program).is_err() {
            continue;
        }
        for sample in samples(&run(&program).threads[0]) {
            assert!(!sample.outcome.late.is_early(), "{method}: {sample:?}");
            assert!(sample.outcome.naps >= 1, "{method}: {sample:?}");
        }
    }
}

#[test]
fn two_threads_answer_each_other_by_events() {
    const ROUNDS: u64 = 50;
    let (ping, pong) = (Event(1), Event(2));
    let other = plain(vec![times(
        ROUNDS,
        vec![Op::Await(ping), Op::Signal(pong), Op::Yield],
    )]);
    let program = plain(vec![
        spawn(other),
        times(ROUNDS, vec![Op::Signal(ping), Op::Await(pong)]),
    ]);
    let observed = run(&program);
    assert_eq!(observed.threads.len(), 2);
    assert!(!observed.interrupted);
}

/// The deadline is ten minutes away, so a wait that its event does not end does
/// not pass unnoticed.
#[test]
fn an_event_ends_the_wait_of_every_strategy() {
    let event = Event(3);
    for spec in Spec::ALL {
        let program = with(
            Subject::Strategy(spec),
            vec![
                spawn(plain(vec![Op::Work(Nanos::from_ms(1)), Op::Signal(event)])),
                Op::Wait {
                    with: 0,
                    due: Due::After(Nanos::from_secs(600)),
                    or: Some(event),
                },
            ],
        );
        let sample = samples(&run(&program).threads[0])[0];
        let outcome = sample.outcome;
        assert!(outcome.by_event, "{spec}: {outcome:?}");
        assert!(outcome.late.is_early(), "{spec}: {outcome:?}");
        // It was signalled while the wait lasted.
        assert!(sample.since_signal <= Some(sample.woke), "{spec}");
        assert!(sample.since_signal.is_some(), "{spec}");
    }
}

/// A wait of ten minutes does not outlive the experiment, whatever it is made
/// of, nor leave a sample.
#[test]
fn the_end_of_the_experiment_ends_every_wait_without_a_sample() {
    let length = Nanos::from_secs(600);
    let waits = Spec::ALL.map(|spec| with(Subject::Strategy(spec), vec![wait(length)]));
    let block = plain(vec![Op::Block {
        method: Method::Sleep,
        length,
        tolerance: Nanos::ZERO,
    }]);
    let others = waits
        .into_iter()
        .chain([block, plain(vec![Op::Until(length)])]);
    let mut ops: Vec<_> = others.map(spawn).collect();
    ops.push(Op::Until(Nanos::from_ms(50)));
    let observed = run(&plain(ops));
    assert_eq!(observed.threads.len(), 3 + Spec::ALL.len());
    for thread in &observed.threads {
        assert_eq!(samples(thread), [], "{thread:?}");
    }
}

#[test]
fn each_phase_begins_a_section_of_every_thread() {
    let nap = Op::Block {
        method: Method::Sleep,
        length: Nanos::from_ms(1),
        tolerance: Nanos::ZERO,
    };
    let named = |name: &str, ops| Op::Spawn {
        name: name.to_owned(),
        kind: SpawnKind::Thread,
        program: plain(ops),
    };
    let ms = |ms| Op::Until(Nanos::from_ms(ms));
    let observed = run(&plain(vec![
        named("naps", vec![forever(vec![nap])]),
        named("works", vec![forever(vec![Op::Work(Nanos::from_ms(1))])]),
        named("waits", vec![ms(250), Op::Yield, ms(600_000)]),
        named("ends", vec![Op::Yield]),
        ms(100),
        Op::Phase,
        ms(200),
        Op::Phase,
        named("comes", vec![ms(600_000)]),
        ms(300),
    ]));
    let director = &observed.threads[0];
    assert_eq!(director.sections.len(), 3);
    // A phase begins when it was to, and a section with it.
    let lengths = || director.sections.iter().map(|s| s.cpu.elapsed);
    let ends: Vec<Nanos> = lengths()
        .scan(director.began, |end, length| {
            *end += length;
            Some(*end)
        })
        .collect();
    assert_eq!(ends[..2], [100, 200].map(Nanos::from_ms));
    for thread in &observed.threads[1..4] {
        let sections = &thread.sections;
        assert_eq!((thread.first_phase, sections.len()), (0, 3), "{thread:?}");
        let middle = sections[1].cpu;
        assert_eq!(middle.elapsed, director.sections[1].cpu.elapsed);
        // It had no more CPU time than there was.
        assert!(middle.thread <= Some(middle.elapsed), "{thread:?}");
        for sample in sections.iter().flat_map(|section| &section.samples) {
            assert_eq!(thread.name, "naps", "{sample:?}");
        }
    }
    assert_eq!(observed.threads[4].sections.len(), 1);
    let comes = &observed.threads[5];
    assert_eq!((comes.first_phase, comes.sections.len()), (2, 1));
    assert!(comes.began >= Nanos::from_ms(200));
    // Where the computer is counted, it is in each phase.
    assert!([0, 3].contains(&observed.computer.len()));
    for used in &observed.computer {
        assert!(used.cpus > 0 && !used.elapsed.is_zero(), "{used:?}");
    }
}

#[test]
fn a_wait_whose_event_does_not_come_lasts_until_its_deadline() {
    for spec in Spec::ALL {
        let or = Some(Event(4));
        let due = Due::After(Nanos::from_us(1_500));
        let program = with(Subject::Strategy(spec), vec![Op::Wait { with: 0, due, or }]);
        let outcome = samples(&run(&program).threads[0])[0].outcome;
        assert!(!outcome.by_event, "{spec}: {outcome:?}");
        assert!(!outcome.late.is_early(), "{spec}: {outcome:?}");
    }
}

#[test]
fn each_record_begins_a_section() {
    let program = system(vec![
        wait(Nanos::from_us(100)),
        Op::Record,
        times(3, vec![wait(Nanos::from_us(100))]),
        Op::Record,
        Op::Record,
        Op::Block {
            method: Method::Timer,
            length: Nanos::from_us(100),
            tolerance: Nanos::ZERO,
        },
    ]);
    let sections = &run(&program).threads[0].sections;
    let counts: Vec<_> = sections.iter().map(|s| s.samples.len()).collect();
    assert_eq!(counts, [1, 3, 0, 1]);
    for section in sections {
        assert!(section.samples.is_sorted_by_key(|sample| sample.woke));
        let last = section.samples.last().map_or(Nanos::ZERO, |s| s.woke);
        assert!(section.cpu.elapsed >= last, "{section:?}");
    }
}

#[test]
fn the_books_of_a_wait_add_up() {
    for spec in Spec::ALL {
        let program = with(
            Subject::Strategy(spec),
            vec![times(4, vec![wait(Nanos::from_us(700))])],
        );
        for sample in samples(&run(&program).threads[0]) {
            let Sample { asked, outcome, .. } = sample;
            let late = Nanos::new(outcome.late.as_ns().unsigned_abs());
            assert_eq!(asked, Nanos::from_us(700));
            // The wait's last reading is not the one its lateness is from.
            assert!(outcome.slept + outcome.spun <= asked + late, "{spec}");
        }
    }
}

#[test]
fn a_stop_before_the_start_leaves_nothing_observed() {
    let stop = Stop::new();
    stop.request();
    let program = system(vec![forever(vec![wait(Nanos::from_ms(1))])]);
    let observed = HostMachine::new(stop).run(&program).unwrap();
    assert!(observed.interrupted);
    assert_eq!(samples(&observed.threads[0]), []);
}

#[test]
fn a_stop_ends_an_endless_program_and_keeps_what_it_observed() {
    static STOP: OnceLock<Stop> = OnceLock::new();
    let stop = STOP.get_or_init(Stop::new).clone();
    // The third wait is the user who has seen enough.
    let mut machine = HostMachine::new(stop).with_peer("user", || {
        let mut waits = 0;
        Box::new(move |_| {
            waits += 1;
            if waits == 3 {
                STOP.wait().request();
            }
        })
    });
    let hog = plain(vec![forever(vec![Op::Work(Nanos::from_ms(1))])]);
    let program = with(
        peer("user"),
        vec![spawn(hog), forever(vec![wait(Nanos::ZERO)])],
    );
    let observed = machine.run(&program).unwrap();
    assert!(observed.interrupted);
    assert_eq!(samples(&observed.threads[0]).len(), 3);
    assert_eq!(observed.threads.len(), 2);
}

#[test]
fn a_stop_ends_what_waits_for_an_event() {
    static STOP: OnceLock<Stop> = OnceLock::new();
    let stop = STOP.get_or_init(Stop::new).clone();
    let mut machine =
        HostMachine::new(stop).with_peer("user", || Box::new(|_| STOP.wait().request()));
    let user = with(peer("user"), vec![wait(Nanos::ZERO)]);
    let hour = Due::After(Nanos::from_secs(3_600));
    let never = Op::Wait {
        with: 0,
        due: hour,
        or: Some(Event(1)),
    };
    for last in [never, Op::Await(Event(1))] {
        let observed = machine
            .run(&system(vec![spawn(user.clone()), last]))
            .unwrap();
        assert!(observed.interrupted);
    }
}

#[test]
fn exit_ends_a_program_in_the_middle() {
    let program = system(vec![forever(vec![wait(Nanos::ZERO), Op::Exit])]);
    let observed = run(&program);
    assert_eq!(samples(&observed.threads[0]).len(), 1);
    assert!(!observed.interrupted);
}

#[test]
fn missed_cycles_are_skipped_and_counted() {
    let period = Nanos::from_ms(1);
    let next_cycle = Op::Wait {
        with: 0,
        due: Due::NextCycle,
        or: None,
    };
    let program = system(vec![
        Op::Pace(Rate::from_period(period).unwrap()),
        // Wine counts CPU time in steps of 10 ms, so less could be no work.
        times(100, vec![next_cycle, Op::Work(Nanos::from_ms(25))]),
    ]);
    let samples = samples(&run(&program).threads[0]);
    // Each missed cycle uses up a pass.
    let missed: u64 = samples[..samples.len() - 1].iter().map(|s| s.missed).sum();
    assert!(samples.len() >= 2 && missed + (samples.len() as u64) <= 100);
    let deadline = |s: &Sample| s.woke.as_ns() - s.outcome.late.as_ns().unsigned_abs();
    for pair in samples.windows(2) {
        assert!(pair[1].missed >= 1, "{pair:?}");
        assert_eq!(
            deadline(&pair[1]) - deadline(&pair[0]),
            (pair[1].missed + 1) * period.as_ns(),
            "{pair:?}"
        );
    }
}

#[test]
fn all_threads_end_when_the_first_one_does() {
    let hog = plain(vec![forever(vec![Op::Work(Nanos::from_ms(1))])]);
    let patient = plain(vec![Op::Await(Event(9)), forever(vec![Op::Yield])]);
    let waiter = system(vec![Op::Wait {
        with: 0,
        due: Due::After(Nanos::from_secs(600)),
        or: Some(Event(10)),
    }]);
    let program = system(vec![
        spawn(hog.clone()),
        spawn(hog),
        spawn(patient),
        spawn(waiter),
        times(3, vec![wait(Nanos::from_ms(1))]),
    ]);
    let observed = run(&program);
    assert_eq!(observed.threads.len(), 5);
    assert_eq!(samples(&observed.threads[0]).len(), 3);
    assert!(!observed.interrupted);
}

/// What it starts says something, but not what it has observed; and nobody else
/// would end the first thread.
#[test]
fn a_process_that_fails_ends_the_experiment() {
    let tests = std::env::current_exe().unwrap();
    let lists_them = ProcessCommand::new(tests, ["--list".into()]);
    let process = Op::Spawn {
        name: "lister".to_owned(),
        kind: SpawnKind::Process,
        program: plain(vec![]),
    };
    let never = Op::Await(Event(1));
    let mut machine = host().with_processes(lists_them);
    let why = machine.run(&plain(vec![process, never])).unwrap_err();
    let why = why.to_string();
    assert!(
        why.contains("`lister` did not say what it observed"),
        "{why}"
    );
}

/// As a terminal does that sends Ctrl-C to a process that just starts.
#[cfg(unix)]
#[test]
fn a_process_that_is_told_to_end_before_it_listens_ends_the_experiment_as_the_user_does() {
    let dies = ProcessCommand::new("sh", ["-c", "kill -INT $$"].map(Into::into));
    let process = Op::Spawn {
        name: "dies".to_owned(),
        kind: SpawnKind::Process,
        program: plain(vec![]),
    };
    let mut machine = host().with_processes(dies);
    let never = Op::Await(Event(1));
    let observed = machine.run(&plain(vec![process, never])).unwrap();
    assert!(observed.interrupted);
    assert_eq!(observed.threads.len(), 1);
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn a_thread_that_panics_ends_the_experiment() {
    let peer = with(peer("broken"), vec![wait(Nanos::from_us(1))]);
    let never = Op::Await(Event(1));
    let program = plain(vec![spawn(peer), never]);
    let mut machine = host().with_peer("broken", || Box::new(|_| panic!("it is broken")));
    let _ = machine.run(&program);
}

#[test]
fn a_peer_is_made_once_for_each_thread_and_called_with_the_deadline() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    static CALLED_WITH: Mutex<Vec<Instant>> = Mutex::new(Vec::new());
    let mut machine = host().with_peer("foreign", || {
        MADE.fetch_add(1, Ordering::SeqCst);
        Box::new(|deadline| {
            CALLED_WITH.lock().unwrap().push(deadline);
            std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        })
    });
    let length = Duration::from_millis(2);
    let child = with(
        peer("foreign"),
        vec![wait(length.into()), Op::Signal(Event(1))],
    );
    let program = with(
        peer("foreign"),
        vec![
            wait(length.into()),
            wait(length.into()),
            spawn(child),
            Op::Await(Event(1)),
        ],
    );
    let begin = Instant::now();
    let observed = machine.run(&program).unwrap();
    assert_eq!(MADE.load(Ordering::SeqCst), 2);
    let called_with = CALLED_WITH.lock().unwrap();
    assert_eq!(called_with.len(), 3);
    for (i, deadline) in (1..).zip(called_with.iter()) {
        assert!(*deadline >= begin + i * length, "wait {i}");
    }
    for sample in samples(&observed.threads[0]) {
        // Nothing is known of what goes on inside.
        assert_eq!((sample.outcome.steps, sample.outcome.naps), (1, 0));
    }
}

fn refusal(program: &Program) -> String {
    let refused = |refusal: Refusal| refusal.to_string();
    let checked = host().check(program).map_err(refused).unwrap_err();
    let run = host().run(program).map_err(refused).unwrap_err();
    assert_eq!(checked, run);
    assert!(!run.contains('\n'), "{run}");
    run
}

#[test]
fn what_this_host_cannot_do_it_refuses_by_name() {
    let foreign = if cfg!(windows) {
        Method::Timerfd
    } else {
        Method::WindowsSleep
    };
    let foreign_clock = if cfg!(windows) {
        OsClock::Boottime
    } else {
        OsClock::GetTickCount
    };
    let no_cpu = format!("no CPU {}", usize::MAX);
    let process = Op::Spawn {
        name: String::new(),
        kind: SpawnKind::Process,
        program: plain(vec![]),
    };
    let block = Op::Block {
        method: foreign,
        length: Nanos::ZERO,
        tolerance: Nanos::ZERO,
    };
    for (op, says) in [
        (Op::Pin(usize::MAX), no_cpu.as_str()),
        (Op::Set(Setting::Power(Power::Battery)), "`power`"),
        (
            Op::Set(Setting::Request {
                interval: Nanos::from_ms(1),
                on_battery: None,
                by: Requester::Driver,
            }),
            "driver",
        ),
        (Op::Read(Probe::Stated(foreign_clock)), foreign_clock.name()),
        (process, "processes"),
        (block, foreign.name()),
    ] {
        for program in [
            plain(vec![op.clone()]),
            plain(vec![Op::Exit, times(2, vec![op.clone()])]),
            plain(vec![spawn(plain(vec![op.clone()]))]),
        ] {
            let refusal = refusal(&program);
            assert!(refusal.contains(says), "{op:?}: {refusal}");
        }
    }
    let unknown = with(peer("nobody"), vec![]);
    assert!(refusal(&unknown).contains("`nobody`"));
    let strategy = with(Subject::Strategy(Spec::System { method: foreign }), vec![]);
    assert!(refusal(&strategy).contains(foreign.name()));
    assert!(refusal(&plain(vec![wait(Nanos::ZERO)])).contains("subject 0"));
}

#[test]
fn only_linux_has_a_slack_to_set() {
    let program = plain(vec![Op::Set(Setting::Slack(Nanos::new(1)))]);
    if cfg!(target_os = "linux") {
        assert_eq!(run(&program).threads.len(), 1);
    } else {
        assert!(refusal(&program).contains("timer slack"));
    }
}

/// A user who may not is told so by a count; the rest of the program runs.
#[test]
fn what_the_os_does_not_let_this_user_do_is_counted() {
    let highest = Op::Set(Setting::Priority(Priority::RealTime));
    let after = Op::Block {
        method: Method::Sleep,
        length: Nanos::ZERO,
        tolerance: Nanos::ZERO,
    };
    let program = plain(vec![highest, after]);
    if host().check(&program).is_err() {
        return;
    }
    let observed = run(&program);
    let section = &observed.threads[0].sections[0];
    assert_eq!(section.samples.len(), 1);
    assert!(section.denied <= 1);
}

#[test]
fn a_reading_is_in_the_books() {
    let cost = Probe::Cost(if cfg!(windows) {
        OsClock::PerformanceCounter
    } else if cfg!(target_os = "macos") {
        OsClock::MachAbsoluteTime
    } else {
        OsClock::Monotonic
    });
    let program = plain(vec![
        Op::Read(cost),
        Op::Record,
        times(2, vec![Op::Read(cost)]),
    ]);
    let observed = run(&program);
    let sections = &observed.threads[0].sections;
    let counts: Vec<_> = sections.iter().map(|s| s.readings.len()).collect();
    assert_eq!(counts, [1, 2]);
    assert_eq!(sections[0].readings[0].probe, cost);
}

#[test]
fn nothing_runs_of_a_program_that_is_refused() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut machine = host().with_peer("counter", || {
        CALLS.fetch_add(1, Ordering::SeqCst);
        Box::new(|_| ())
    });
    let program = with(
        peer("counter"),
        vec![wait(Nanos::ZERO), Op::Pin(usize::MAX)],
    );
    machine.run(&program).unwrap_err();
    assert_eq!(CALLS.load(Ordering::SeqCst), 0);
}

/// Signals that end the naps of a thread, from a thread of the same program.
#[cfg(target_os = "linux")]
mod signals {
    use super::*;
    use std::process::Command;

    static STOP: Mutex<Option<Stop>> = Mutex::new(None);
    static SLEEPER: Mutex<String> = Mutex::new(String::new());

    /// Notes the number of the thread it runs on.
    fn note() -> Box<dyn FnMut(Instant)> {
        Box::new(|_| {
            let link = std::fs::read_link("/proc/thread-self").unwrap();
            let number = link.file_name().unwrap().to_str().unwrap();
            number.clone_into(&mut SLEEPER.lock().unwrap());
        })
    }

    /// Sends 20 signals to that thread, which a signal to a thread's number
    /// reaches first on Linux, then ends the experiment.
    fn disturb() -> Box<dyn FnMut(Instant)> {
        Box::new(|_| {
            let thread = SLEEPER.lock().unwrap().clone();
            for _ in 0..20 {
                let kill = Command::new("kill").args(["-INT", &thread]).status();
                assert!(kill.unwrap().success());
            }
            STOP.lock().unwrap().take().unwrap().request();
        })
    }

    /// The thread is nearly always in a nap of 20 ms, so of 20 signals some end
    /// one early; the strategy then sleeps for the rest.
    #[test]
    fn a_signal_ends_a_nap_but_not_the_wait() {
        ctrlc::set_handler(|| ()).unwrap();
        let disturbed = |method| {
            let stop = Stop::new();
            *STOP.lock().unwrap() = Some(stop.clone());
            let mut machine = HostMachine::new(stop)
                .with_peer("note", note)
                .with_peer("disturb", disturb);
            let program = Program {
                subjects: vec![peer("note"), Subject::Strategy(Spec::System { method })],
                ops: vec![
                    wait(Nanos::ZERO),
                    spawn(with(peer("disturb"), vec![wait(Nanos::ZERO)])),
                    Op::Record,
                    forever(vec![Op::Wait {
                        with: 1,
                        due: Due::After(Nanos::from_ms(20)),
                        or: None,
                    }]),
                ],
            };
            let observed = machine.run(&program).unwrap();
            let samples = observed.threads[0].sections[1].samples.clone();
            for sample in &samples {
                assert!(!sample.outcome.late.is_early(), "{method}: {sample:?}");
            }
            let naps: usize = samples.iter().map(|s| s.outcome.naps as usize).sum();
            naps - samples.len()
        };
        assert!(disturbed(Method::ClockNanosleep) > 0);
        // The kernel goes on with a read after the handlers that ctrlc sets.
        assert_eq!(disturbed(Method::Timerfd), 0);
    }
}
