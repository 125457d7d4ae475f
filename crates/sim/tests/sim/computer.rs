//! Properties of every model, for any threads: random programs with processes and threads that
//! sleep, wait, compute, yield, signal and change settings.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use punctual_core::{Event, Method, Nanos, Rate, StrategySpec};
use punctual_program::Probe;
use punctual_program::lengths::{Law, Lengths};
use punctual_program::probe::OsClock;
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::setting::{Policy, Power, Priority, Requester, Reservation, Throttling};
use punctual_program::{Machine, Observations, Program, Refusal, Setting};
use punctual_sim::model::{Domain, Value};
use punctual_sim::trace::{Happened, Trace};
use punctual_sim::{Limits, Model, SimMachine};

/// As long as each experiment takes.
const LENGTH: Nanos = Nanos::from_ms(120);

/// The most that `setting` makes of a slack.
const SLACK_MAX: Nanos = Nanos::from_ms(3);

/// No length among the parameters is longer, or little would happen.
const PARAMETER_MAX: Nanos = Nanos::from_ms(30);

/// No rule keeps a timer of this length longer than this after it was due.
fn late_max(model: &Model, asked: Nanos) -> Nanos {
    let (length, count) = (|key| length_of(model, key), |key| count_of(model, key));
    let whole_ms = Nanos::from_ms(1);
    if let Some(interval) = length("interval") {
        // The tick after it, and another, since a change of the interval can delay that. With
        // default scans also the scan after it. That scan can be longer than the interval, be
        // delayed to a tick by a change of the interval, and slip to another. A high-resolution
        // timer is late by its extra length and a tick of a real-time clock.
        let half = Nanos::new(interval.as_ns() / 2);
        let look = match (length("cap"), count("slip")) {
            (Some(cap), Some(0)) => interval.times(3) + cap.min(half),
            (Some(cap), _) => interval.times(4) + cap.min(half),
            (None, _) => interval.times(2),
        };
        let own = length("hires_late").unwrap_or_default() + whole_ms;
        return whole_ms + look.max(own);
    }
    if let Some(slack) = length("slack") {
        // Wine waits whole milliseconds, and in `poll`, whose slack is at least
        // a two-hundredth of the length.
        let wine = match model.name().starts_with("wine") {
            true => whole_ms + Nanos::new(asked.as_ns() / 200),
            false => Nanos::ZERO,
        };
        let window = match value_of(model, "highres") {
            Some(Value::Choice("off")) => Nanos::from_ms(10),
            _ => slack.max(SLACK_MAX),
        };
        return window + wine;
    }
    // macOS: the background waits up to 32 times the length, no longer than 100 ms, and a
    // real-time thread not at all; the tiers lie between. A napping process waits for another
    // interrupt.
    let (times, cap) = match value_of(model, "app_nap") {
        Some(Value::Choice("deep")) => (1 << 15, Nanos::from_secs(10)),
        _ => (32, Nanos::from_ms(100)),
    };
    let slop = asked.times(times).min(cap);
    let idle_level = count("idle_level").unwrap_or_default();
    slop + Nanos::new(slop.as_ns() * idle_level / 128)
}

/// No rule wakes a thread longer than this before it was due: one that counts
/// from the last tick does, up to a default interval.
fn early_max(model: &Model) -> Nanos {
    match value_of(model, "base") {
        Some(Value::Choice("tick")) => length_of(model, "interval").unwrap_or_default(),
        _ => Nanos::ZERO,
    }
}

fn value_of(model: &Model, key: &str) -> Option<Value> {
    let mut all = model.parameters().iter();
    all.find(|(parameter, _)| parameter.key == key)
        .map(|(_, value)| *value)
}

fn length_of(model: &Model, key: &str) -> Option<Nanos> {
    match value_of(model, key) {
        Some(Value::Length(length)) => Some(length),
        _ => None,
    }
}

fn count_of(model: &Model, key: &str) -> Option<u64> {
    match value_of(model, key) {
        Some(Value::Count(count)) => Some(count),
        _ => None,
    }
}

fn length() -> impl Strategy<Value = Nanos> {
    prop_oneof![
        (0_u64..50_000).prop_map(Nanos::new),
        (0_u64..5_000_000).prop_map(Nanos::new),
        (0_u64..40).prop_map(Nanos::from_ms),
    ]
}

fn setting() -> impl Strategy<Value = Setting> {
    let interval = || (5_u64..200).prop_map(|tenths| Nanos::from_us(100 * tenths));
    let by = || prop_oneof![4 => Just(Requester::Process), 1 => Just(Requester::Driver)];
    prop_oneof![
        (interval(), by(), prop::option::of(interval())).prop_map(|(interval, by, on_battery)| {
            Setting::Request {
                interval,
                on_battery,
                by,
            }
        }),
        (interval(), by()).prop_map(|(interval, by)| Setting::Release { interval, by }),
        (0..=SLACK_MAX.as_ns()).prop_map(|ns| Setting::Slack(Nanos::new(ns))),
        prop::sample::select(Priority::ALL.to_vec()).prop_map(Setting::Priority),
        (-20_i8..20).prop_map(Setting::Nice),
        prop_oneof![Just(0), 100_u64..20_000].prop_map(|us| Setting::Slice(Nanos::from_us(us))),
        (0_u64..10_000, 1_u64..60, 0_u64..5_000).prop_map(|(us, ms, burst)| Setting::Quota {
            time: Nanos::from_us(us),
            period: Nanos::from_ms(ms),
            burst: Nanos::from_us(burst),
        }),
        prop_oneof![Just(0), 1_u16..10_000].prop_map(Setting::Weight),
        policy().prop_map(Setting::Policy),
        any::<[bool; 3]>().prop_map(|[visible, foreground, audible]| Setting::Window {
            visible,
            foreground,
            audible
        }),
        prop_oneof![Just(Power::Mains), Just(Power::Battery)].prop_map(Setting::Power),
        prop_oneof![
            Just(Throttling::BySystem),
            Just(Throttling::HonourRequests),
            Just(Throttling::IgnoreRequests)
        ]
        .prop_map(Setting::Throttling),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let reservation = (1_u64..30_000, 0_u64..30_000, 0_u64..30_000).prop_map(|(a, b, c)| {
        let [runtime, deadline, period] = [a, a + b, a + b + c].map(Nanos::from_us);
        Policy::Deadline(Reservation {
            runtime,
            deadline,
            period,
        })
    });
    prop_oneof![
        Just(Policy::Other),
        Just(Policy::Batch),
        Just(Policy::Idle),
        (1_u8..100).prop_map(Policy::Fifo),
        (1_u8..100).prop_map(Policy::RoundRobin),
        reservation,
    ]
}

/// Lengths that are drawn, each by itself.
fn lengths() -> impl Strategy<Value = Lengths> {
    let law = prop_oneof![
        length().prop_map(Law::Fixed),
        (length(), length()).prop_map(|(a, b)| Law::Uniform(a.min(b), a.max(b))),
        length().prop_map(Law::Exponential),
        vec(length(), 1..4).prop_map(Law::Recorded),
    ];
    (law, length(), 0_usize..3).prop_map(|(law, min, stream)| Lengths { law, min, stream })
}

fn op() -> impl Strategy<Value = Op> {
    let event = || (0_u32..3).prop_map(Event);
    let leaf = prop_oneof![
        8 => (any::<bool>(), length()).prop_map(|(timer, length)| Op::nap(if timer { Method::Timer } else { Method::Sleep }, length)),
        4 => (0..StrategySpec::ALL.len(), length(), prop::option::of(event())).prop_map(
            |(with, length, or)| Op::Wait { with, due: Due::After(length), or }
        ),
        3 => length().prop_map(Op::Work),
        2 => (lengths(), block_of_any()).prop_map(|(lengths, op)| Op::Drawn(lengths, Box::new(op))),
        // As short as a scenario can have them on average.
        1 => lengths().prop_map(|gaps| Op::Cycles(Lengths { min: gaps.min + Nanos::from_us(1), ..gaps })),
        2 => (0..StrategySpec::ALL.len(), prop::option::of(event())).prop_map(
            |(with, or)| Op::Wait { with, due: Due::NextCycle, or }
        ),
        2 => Just(Op::Yield),
        3 => setting().prop_map(Op::Set),
        1 => Just(Op::Read(Probe::Resolution)),
        1 => Just(Op::Read(Probe::Step(OsClock::TimeGetTime))),
        1 => (0_u64..120).prop_map(|ms| Op::Until(Nanos::from_ms(ms))),
        1 => event().prop_map(Op::Signal),
        1 => event().prop_map(Op::Await),
        1 => (0_usize..4).prop_map(Op::Pin),
        1 => Just(Op::Record),
        1 => Just(Op::Phase),
        1 => Just(Op::Exit),
    ];
    leaf.prop_recursive(2, 24, 6, |op| {
        let times = prop_oneof![1_u64..20, Just(u64::MAX)];
        let spawn = prop_oneof![Just(SpawnKind::Thread), Just(SpawnKind::Process)];
        prop_oneof![
            2 => (times, vec(op.clone(), 1..6)).prop_map(|(times, body)| Op::repeat(times, body)),
            1 => (spawn, vec(op, 1..6)).prop_map(|(kind, ops)| Op::spawn(kind, "spawned", program(ops))),
        ]
    })
}

/// An operation whose length can be drawn: a block, a wait or work.
fn block_of_any() -> impl Strategy<Value = Op> {
    let method = prop_oneof![Just(Method::Timer), Just(Method::Sleep)];
    prop_oneof![
        method.prop_map(|method| Op::nap(method, Nanos::ZERO)),
        (0..StrategySpec::ALL.len()).prop_map(|with| Op::Wait {
            with,
            due: Due::After(Nanos::ZERO),
            or: None,
        }),
        Just(Op::Work(Nanos::ZERO)),
    ]
}

/// The pace of a program that waits for cycles.
fn pace() -> Op {
    Op::Pace(Rate::from_period(Nanos::from_ms(3)).unwrap())
}

fn program(ops: Vec<Op>) -> Program {
    Program {
        subjects: StrategySpec::ALL.map(Subject::Strategy).to_vec(),
        ops: [pace()].into_iter().chain(ops).collect(),
    }
}

/// Some processes, under the hand of an experimenter.
fn experiment() -> impl Strategy<Value = Program> {
    vec(vec(op(), 1..10), 1..6).prop_map(|processes| {
        let mut ops: Vec<Op> = processes
            .into_iter()
            .map(|ops| Op::spawn(SpawnKind::Process, "process", program(ops)))
            .collect();
        ops.extend([
            Op::Until(Nanos::from_ms(70)),
            Op::Phase,
            Op::Until(LENGTH),
            Op::Exit,
        ]);
        Program::from(ops)
    })
}

fn model() -> impl Strategy<Value = Model> {
    // More than any model has.
    let draws = vec(prop::option::of(any::<u64>()), 32);
    let known = prop::sample::select(Model::known());
    (known, draws, any::<bool>()).prop_map(|(known, draws, has_efficient)| {
        let parameters = known.parameters();
        assert!(parameters.iter().count() <= draws.len());
        let given = parameters.iter().zip(draws).filter_map(|((p, _), draw)| {
            let value = value(p.key, p.kind, draw?);
            // They are parts of `wake`, which may be short, and of `cpus`.
            let is_part = ["nap", "jitter", "efficient"].contains(&p.key);
            (!is_part).then(|| format!(",{}={value}", p.key))
        });
        let text: String = [known.name.to_owned()].into_iter().chain(given).collect();
        let with_efficient = Model::parse(&format!("{text},efficient=1"));
        match with_efficient.ok().filter(|_| has_efficient) {
            Some(model) => model,
            None => Model::parse(&text).unwrap(),
        }
    })
}

/// Any value of a parameter; of a length, any order of magnitude.
fn value(key: &str, kind: Domain, draw: u64) -> Value {
    match kind {
        Domain::Length(min, max) => {
            let room = (max.min(PARAMETER_MAX) - min).as_ns();
            let below = (room >> (draw % 16)).saturating_add(1);
            Value::Length(min + Nanos::new((draw >> 4) % below))
        }
        Domain::Count(min, max) => {
            // Few CPUs, so that threads meet.
            let max = if key == "cpus" { 4 } else { max };
            Value::Count(min + draw % (max - min + 1))
        }
        Domain::Choice(words) | Domain::States(words) => {
            Value::Choice(words[draw as usize % words.len()])
        }
    }
}

/// Runs it without what the model refuses; `None` if it has too much of
/// something.
fn run(model: &Model, seed: u64, program: &Program) -> Option<(Observations, Trace)> {
    let limits = Limits {
        steps: 300_000,
        threads: 2_000,
        samples: 50_000,
    };
    let mut machine = SimMachine::new(model.clone(), seed).with_limits(limits);
    let accepted = without_refused(&machine, program);
    let seen = machine.run_watched(&accepted, true, &mut |_| {});
    let seen = seen.map(|(seen, trace)| (seen, trace.expect("it was asked for")));
    // Without a trace, what only a trace tells apart is not carried out one by one.
    let mut untraced = SimMachine::new(model.clone(), seed).with_limits(limits);
    let untraced = untraced.run(&accepted);
    assert_eq!(seen.as_ref().map(|(seen, _)| seen), untraced.as_ref());
    match seen {
        Ok(seen) => Some(seen),
        Err(why) => {
            let why = why.to_string();
            // A refusal that depends on the operations before comes when the program runs.
            let is_late = why.contains("came to more than") || why.contains("cannot be pinned");
            assert!(is_late, "{why}");
            None
        }
    }
}

fn without_refused(machine: &SimMachine, program: &Program) -> Program {
    fn accepted(machine: &SimMachine, subjects: &[Subject], ops: &[Op]) -> Vec<Op> {
        let keep = |op: &Op| -> Option<Op> {
            let op = match op {
                Op::Loop { times, body } => Op::Loop {
                    times: *times,
                    body: Some(accepted(machine, subjects, body)).filter(|b| !b.is_empty())?,
                },
                Op::Spawn {
                    name,
                    kind,
                    program,
                } => Op::Spawn {
                    name: name.clone(),
                    kind: *kind,
                    program: without_refused(machine, program),
                },
                other => other.clone(),
            };
            let alone = Program {
                subjects: subjects.to_vec(),
                ops: vec![pace(), op],
            };
            let checked: Result<(), Refusal> = machine.check(&alone);
            checked.is_ok().then(|| alone.ops.into_iter().nth(1))?
        };
        ops.iter().filter_map(keep).collect()
    }
    Program {
        subjects: program.subjects.clone(),
        ops: accepted(machine, &program.subjects, &program.ops),
    }
}

/// Each timer goes off, not before it is due and not long after.
fn assert_timers_fire(model: &Model, trace: &Trace) -> Result<(), TestCaseError> {
    let mut armed = BTreeMap::new();
    for (at, what) in &trace.events {
        match what {
            Happened::Armed { thread, due, .. } => {
                armed.insert(*thread, (*at, *due));
            }
            Happened::Expired { thread, why, .. } => {
                let timer = armed.remove(thread);
                prop_assert!(timer.is_some(), "{at}: {thread} was not armed: {why}");
                let (from, due) = timer.unwrap_or_default();
                prop_assert!(
                    *at + early_max(model) >= due,
                    "{at}: {thread} was due {due}: {why}"
                );
                // Cut down to nanoseconds, a length can be one short.
                let asked = due - from + Nanos::new(1);
                prop_assert!(
                    *at <= due + late_max(model, asked),
                    "{at}: {thread} was due {due}: {why}"
                );
            }
            Happened::Signalled { thread } | Happened::Ended(thread) => {
                armed.remove(thread);
            }
            _ => {}
        }
    }
    Ok(())
}

/// A block that was armed to the end is due late enough for that: no thread is forgotten.
fn assert_nobody_is_forgotten(model: &Model, trace: &Trace) -> Result<(), TestCaseError> {
    let mut armed = BTreeMap::new();
    for (at, what) in &trace.events {
        match what {
            Happened::Armed { thread, due, .. } => {
                armed.insert(*thread, (*at, *due));
            }
            Happened::Expired { thread, .. }
            | Happened::Signalled { thread }
            | Happened::Ended(thread) => {
                armed.remove(thread);
            }
            _ => {}
        }
    }
    for (thread, (from, due)) in armed {
        let asked = due - from + Nanos::new(1);
        prop_assert!(
            due + late_max(model, asked) >= LENGTH,
            "{thread} was due {due}"
        );
    }
    Ok(())
}

/// No thread is on two CPUs, and no CPU has two threads; what they ran adds up.
fn assert_cpu_times_add_up(
    model: &Model,
    observed: &Observations,
    trace: &Trace,
) -> Result<(), TestCaseError> {
    // Time that a hypervisor took from a CPU that was to be busy is neither.
    let is_robbed = length_of(model, "steal").is_some_and(|steal| !steal.is_zero());
    let mut by_cpu: BTreeMap<usize, Nanos> = BTreeMap::new();
    let mut by_thread: BTreeMap<usize, Nanos> = BTreeMap::new();
    let mut total = Nanos::ZERO;
    for (at, what) in &trace.events {
        let Happened::Ran { thread, cpu, from } = what else {
            continue;
        };
        let last = by_cpu.insert(*cpu, *at).unwrap_or_default();
        prop_assert!(*from >= last, "CPU {cpu}: {from} before {last}");
        let last = by_thread.insert(*thread, *at).unwrap_or_default();
        prop_assert!(*from >= last, "thread {thread}: {from} before {last}");
        total += *at - *from;
    }
    let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
    let billed = sections
        .filter_map(|section| section.cpu.thread)
        .fold(Nanos::ZERO, |sum, part| sum + part);
    let busy = observed
        .computer
        .iter()
        .fold(Nanos::ZERO, |sum, phase| sum + phase.busy.unwrap());
    // Each part is cut down to whole nanoseconds.
    let parts = observed
        .threads
        .iter()
        .map(|t| t.sections.len() as u64 + 2)
        .sum::<u64>()
        + trace.events.len() as u64;
    // Ticks find a thread running more or less often than it is.
    let by_ticks = value_of(model, "cpu_counted") == Some(Value::Choice("ticks"));
    let billed = Some(billed).filter(|_| !by_ticks);
    for other in [Some(total), billed].into_iter().flatten() {
        let difference = busy.as_ns().abs_diff(other.as_ns());
        prop_assert!(difference <= parts, "busy {busy}, {other}: {difference} ns");
    }
    for phase in &observed.computer {
        let capacity = phase.elapsed.times(phase.cpus as u64).as_ns();
        let idle: u64 = phase.idle.iter().map(|part| part.total.as_ns()).sum();
        let used = (phase.busy.unwrap() + phase.waking.unwrap()).as_ns() + idle;
        // Each length of idle stretches is cut down to whole nanoseconds.
        let is_whole = used.abs_diff(capacity) <= 64 || is_robbed && used < capacity;
        prop_assert!(is_whole, "{used} of {capacity}: {phase:?}");
        for part in &phase.idle {
            prop_assert!(
                part.at_least.times(part.count) <= part.total + Nanos::new(1),
                "{phase:?}"
            );
        }
    }
    Ok(())
}

/// Each wake-up of an idle CPU is counted as one of the computer.
fn assert_wakeups_are_of_the_computer(observed: &Observations) -> Result<(), TestCaseError> {
    let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
    let by_threads: u64 = sections.map(|section| section.cpu.wakeups.unwrap()).sum();
    let phases = observed.computer.iter();
    let all: u64 = phases.map(|phase| phase.wakeups.unwrap()).sum();
    prop_assert!(by_threads <= all, "{by_threads} of {all}");
    Ok(())
}

fn assert_time_goes_forward(observed: &Observations, trace: &Trace) -> Result<(), TestCaseError> {
    prop_assert!(trace.events.iter().map(|(at, _)| *at).is_sorted());
    for thread in &observed.threads {
        for section in &thread.sections {
            let woke = section.samples.iter().map(|sample| sample.woke);
            prop_assert!(woke.is_sorted(), "{section:?}");
        }
    }
    let elapsed = observed.computer.iter().map(|phase| phase.elapsed.as_ns());
    prop_assert_eq!(elapsed.sum::<u64>(), LENGTH.as_ns());
    Ok(())
}

/// Waits, unlike blocks, are never early, but by an event.
fn assert_no_wait_is_early(observed: &Observations) -> Result<(), TestCaseError> {
    let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
    for sample in sections.flat_map(|section| &section.samples) {
        let outcome = sample.outcome;
        let is_block = outcome.steps == 1 && outcome.naps == 1;
        prop_assert!(
            !outcome.late.is_early() || outcome.by_event || is_block,
            "{sample:?}"
        );
        prop_assert_eq!(
            sample.since_signal.is_some(),
            outcome.by_event,
            "{:?}",
            sample
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_model_keeps_its_books(model in model(), seed: u64, experiment in experiment()) {
        let Some((observed, trace)) = run(&model, seed, &experiment) else {
            return Ok(());
        };
        assert_time_goes_forward(&observed, &trace)?;
        assert_timers_fire(&model, &trace)?;
        assert_nobody_is_forgotten(&model, &trace)?;
        assert_cpu_times_add_up(&model, &observed, &trace)?;
        assert_no_wait_is_early(&observed)?;
        assert_wakeups_are_of_the_computer(&observed)?;
        let again = run(&model, seed, &experiment);
        prop_assert!(again.is_some_and(|(same, _)| same == observed), "not repeatable");
    }
}

/// A thread that had all of a slice is behind one that hardly runs, also while it waits with that
/// slice. A sleeper beside two hogs nearly always runs at once, because its naps use up its lag.
#[test]
fn a_sleeper_beside_two_hogs_seldom_waits_for_a_tick() {
    let hog = || {
        Op::spawn(
            SpawnKind::Process,
            "hog",
            program(vec![Op::Work(Nanos::from_secs(60))]),
        )
    };
    let sleep = Op::nap(Method::Sleep, Nanos::from_ms(1));
    let sleeps = Op::repeat(4_000, [sleep]);
    for version in ["6.6", "6.12", "6.18"] {
        let model = format!("linux-{version},cpus=1,hz=250,wake=20us,nap=8us");
        let mut machine = SimMachine::new(Model::parse(&model).unwrap(), 1);
        let program = program(vec![hog(), hog(), sleeps.clone()]);
        let seen = machine.run(&program).unwrap();
        let samples = &seen.threads[0].sections[0].samples;
        let lates = samples.iter().map(|sample| sample.outcome.late.as_ns());
        let waited = lates.filter(|late| *late > 200_000).count();
        assert!(
            (1..=60).contains(&waited),
            "{model}: {waited} of {}",
            samples.len()
        );
    }
}

/// Two threads that spin beside each other, each on its own CPU: a second of offers, which no thread
/// takes. One by one they are millions of steps.
#[test]
fn offers_on_cpus_of_their_own_are_few_steps() {
    let waits = |ms| vec![Op::repeat(100, [Op::wait(Due::After(Nanos::from_ms(ms)))])];
    let spin = |ops| Program::of(Subject::Strategy(StrategySpec::Spin), ops);
    let mut ops = vec![Op::spawn(SpawnKind::Thread, "other", spin(waits(7)))];
    ops.extend(waits(10));
    for model in ["windows-11,cpus=2", "linux-6.18,cpus=2", "macos,cpus=2"] {
        let limits = Limits {
            steps: 20_000,
            ..Limits::default()
        };
        let mut machine = SimMachine::new(Model::parse(model).unwrap(), 1).with_limits(limits);
        let observed = machine.run(&spin(ops.clone()));
        assert!(observed.is_ok(), "{model}: {:?}", observed.err());
    }
}

/// An hour of offers that no thread takes, of 2 ns each.
#[test]
fn who_yields_for_ever_comes_to_the_limit_of_steps() {
    let yields = Subject::Strategy(StrategySpec::YieldSpin);
    let ops = vec![
        Op::Set(Setting::Nice(19)),
        Op::wait(Due::After(Nanos::from_secs(3_600))),
    ];
    let program = Program::of(yields, ops);
    for steps in [10_000, 10_001] {
        let limits = Limits {
            steps,
            ..Limits::default()
        };
        let model = Model::parse("linux-6.18,cpus=1,read=1ns,yield=1ns").unwrap();
        let mut machine = SimMachine::new(model, 1).with_limits(limits);
        let why = machine.run(&program).unwrap_err().to_string();
        assert!(why.contains("came to more than"), "{why}");
    }
}
