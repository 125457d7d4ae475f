//! The experiments of `measure` on models, where what they must find is known
//! to the nanosecond.

use std::collections::{BTreeMap, BTreeSet};

use punctual_core::{Method, Nanos, Outcome};
use punctual_lab::experiments::cores::Core;
use punctual_lab::experiments::{
    Ask, Call, Conditions, Effort, ROUNDS, clocks, cores, every_call, ladders, load, timers,
    usual_calls, yielding,
};
use punctual_lab::rounds::{self, Results};
use punctual_lab::{model_facts, predict_timers};
use punctual_program::Probe;
use punctual_program::Sample;
use punctual_program::machine::{CpuUse, Reading, Section, ThreadObservations};
use punctual_program::program::Op;
use punctual_program::setting::Priority;
use punctual_program::{Machine, Observations, Program, Refusal};
use punctual_record::compare::{Comparison, Verdict};
use punctual_record::experiment::{Arming, Clocks, Cores, Load, Timers, Yield};
use punctual_record::{MachineFacts, Measurement, OfExperiment, Run};
use punctual_sim::{Model, SimMachine};
use rand_core::Rng as _;
use rand_pcg::Pcg64Mcg;

const FREE: Conditions = Conditions {
    cpu: None,
    hogs: 0,
    crowd: None,
    ask: Ask::Nobody,
};

fn on(name: &str) -> (SimMachine, MachineFacts) {
    let model = Model::parse(name).unwrap_or_else(|why| panic!("{why}"));
    let facts = model_facts(&model);
    (SimMachine::new(model, 1), facts)
}

fn quiet(_: rounds::Progress<'_>) {}

fn methods(calls: &[Call]) -> Vec<Method> {
    calls.iter().map(|call| call.method).collect()
}

fn asked(m: &Measurement) -> u64 {
    let asked_ns = m.experiment.params()["asked_ns"].as_u64();
    asked_ns.unwrap()
}

/// Everything but the waiting for a whole pass of `measure sleep`.
fn measure_sleep(machine: &mut SimMachine) -> Results {
    let calls = every_call(machine).unwrap();
    let cases = ladders::sleep_cases(&calls, Effort::Whole, FREE);
    rounds::run(machine, &cases, 2, &mut quiet).unwrap()
}

#[test]
fn every_call_of_a_model_is_late_by_its_slack_and_the_waking() {
    let (mut machine, _) = on("linux,slack=70us,wake=9us,jitter=0ns,read=1ns");
    let found = measure_sleep(&mut machine).measurements;
    let late = |m: &Measurement| (m.late_ns.min, m.late_ns.max);
    let mut seen = BTreeSet::new();
    for m in &found {
        const MS: u64 = 1_000_000;
        let expected = match (&*m.subject, asked(m)) {
            // In whole milliseconds.
            ("epoll_wait", asked) if asked % MS != 0 => {
                79_001 + (asked.next_multiple_of(MS) - asked) as i64
            }
            // Slack grows with the length: `select_estimate_accuracy`.
            ("poll" | "select" | "epoll_wait", 100_000_000) => 109_001,
            // Ask for nothing and there is no timer to be late.
            ("poll" | "select" | "epoll_wait", 0) => 9_001,
            ("clock_nanosleep+slack=1ns" | "futex+slack=1ns", _) => 9_002,
            ("timerfd" | "timer_settime" | "setitimer", _) => 9_001,
            // Counted in ticks.
            ("SO_RCVTIMEO", _) => continue,
            // And one reading of the clock.
            _ => 79_001,
        };
        assert_eq!(late(m), (expected, expected), "{} {}", m.subject, asked(m));
        seen.insert(m.subject.as_str());
    }
    assert!(seen.contains("clock_nanosleep") && seen.contains("timerfd"));
    let lengths = found.iter().filter(|m| m.subject == "timerfd").map(asked);
    assert!(lengths.eq(ladders::SLEEP_LENGTHS_US.map(|us| us * 1_000)));
}

#[test]
fn sleeps_of_windows_before_2004_end_on_the_grid() {
    let (mut machine, _) = on("windows-10-1909,jitter=0ns,wake=0ns,read=1ns,nap=0ns");
    const TICK: i64 = 15_625_000;
    let mut sleeps = 0;
    for m in &measure_sleep(&mut machine).measurements {
        if m.subject != "Sleep" || asked(m) == 0 {
            continue;
        }
        let asked = i64::try_from(asked(m)).unwrap();
        // The first of a round was not armed on a tick.
        let firsts = [0, m.rounds[0].n as usize];
        let later = m.samples_late_ns.iter().enumerate();
        for (_, late) in later.filter(|(i, _)| !firsts.contains(i)) {
            // Between the tick and the next sleep the clock is read.
            let off = (asked + late + 1) % TICK;
            assert!(off <= 1, "asked {asked}, late {late}");
            sleeps += 1;
        }
    }
    assert!(sleeps > 20, "{sleeps}");
}

#[test]
fn all_names_of_calls_are_those_of_the_system() {
    let (mut machine, facts) = on("windows-10-2004");
    let all = methods(&every_call(&mut machine).unwrap());
    assert!(all.contains(&Method::WindowsSleep) && all.contains(&Method::HighResolutionTimer));
    assert!(!all.contains(&Method::Sleep) && !all.contains(&Method::Yield));
    let usual = usual_calls(&mut machine, &facts).unwrap();
    assert_eq!(
        methods(&usual),
        [Method::WindowsSleep, Method::HighResolutionTimer]
    );
    // A nap of 1 ms takes a whole tick.
    assert_eq!(usual[0].over.as_ns() / 1_000_000, 14);

    let (mut fake, _) = on("fake-5ms");
    assert_eq!(
        methods(&every_call(&mut fake).unwrap()),
        [Method::Sleep, Method::Timer]
    );
}

#[test]
fn a_clock_that_the_tick_writes_is_found() {
    for (model, clock, tick_ns) in [
        ("linux", "CLOCK_MONOTONIC_COARSE", 4_000_000),
        ("linux,hz=1000", "CLOCK_MONOTONIC_COARSE", 1_000_000),
        ("windows-10-2004", "timeGetTime", 15_000_000),
    ] {
        let (mut machine, _) = on(model);
        let cases = clocks::cases(&machine, Effort::Shared, FREE);
        let found = clocks::run(&mut machine, &cases, 1, &mut quiet).unwrap();
        let m = found.measurements.iter().find(|m| m.subject == clock);
        let m = m.unwrap_or_else(|| panic!("{model} has no {clock}"));
        let clock = Clocks::of(m).unwrap();
        assert_eq!(clock.tick_written, Some(true), "{model}");
        let step = clock.step_ns.unwrap();
        assert_eq!((step.min, step.n), (tick_ns, 20), "{model}");
    }
}

/// One round of `timers` on a model.
fn measure_timers(model: &str) -> Vec<Measurement> {
    let (mut machine, facts) = on(model);
    let sleep = usual_calls(&mut machine, &facts).unwrap()[0];
    let cases = timers::cases(&machine, sleep, Effort::Whole, FREE);
    let results = timers::run(&mut machine, &cases, 2, &mut quiet).unwrap();
    results.measurements
}

#[test]
fn what_is_shown_of_a_round_is_shown_before_the_next_one_begins() {
    let (mut machine, facts) = on("linux");
    let sleep = usual_calls(&mut machine, &facts).unwrap()[0];
    let cases = timers::cases(&machine, sleep, Effort::Quick, FREE);
    let log = std::cell::RefCell::new(vec![]);
    let note = |what: String| log.borrow_mut().push(what);
    let mut watch = |progress: rounds::Progress<'_>| note(format!("batch {}", progress.done));
    let mut show = |round: &[Measurement]| {
        note(format!(
            "round {}, {} of 2",
            Timers::of(&round[0]).unwrap().round,
            round.len()
        ));
    };
    timers::run_and_show(&mut machine, &cases, 2, &mut watch, &mut show).unwrap();
    let [first, second] = ["round 0, 2 of 2", "round 1, 2 of 2"];
    let expected = ["batch 0", "batch 1", first, "batch 2", "batch 3", second];
    assert_eq!(log.into_inner(), expected);
}

#[test]
fn sleeps_of_1_ms_are_whole_ticks_when_they_begin_on_one() {
    let found = measure_timers("windows-10-1909");
    let of = |arming: Arming, round: u32| {
        let mut found = found.iter().map(|m| (m, Timers::of(m).unwrap()));
        let is = |(_, of): &(&Measurement, &Timers)| of.arming == arming && of.round == round;
        found.find(is).unwrap()
    };
    for round in [0, 1] {
        let (m, timers) = of(Arming::AfterWake, round);
        assert_eq!(m.subject, "Sleep(1)");
        assert_eq!(timers.stated_ns, Some(15_625_000));
        assert_eq!(timers.step_clock.as_deref(), Some("timeGetTime"));
        let modes = &timers.modes;
        assert_eq!((modes.len(), modes[0].ticks), (1, Some(1)));
        assert!(timers.first_slept_ns.is_some());
        assert_eq!(m.samples_slept_ns.len() as u64, m.late_ns.n);
        // Half a second of them, without the first and without the six ticks
        // that it takes to see three steps of a clock.
        assert_eq!(m.late_ns.n, 25);
    }
    let spread = of(Arming::RandomPhase, 0);
    assert!(spread.1.modes.len() > 5);
    assert_eq!(found.len(), 4);
}

/// A machine that was told what its threads see.
struct Told {
    /// The timer slack and the stated interval, round after round.
    settings: Vec<(Option<Nanos>, Option<Nanos>)>,
    /// How long its sleeps are.
    slept: Vec<Nanos>,
    runs: usize,
}

impl Machine for Told {
    fn check(&self, program: &Program) -> Result<(), Refusal> {
        let (slack, stated) = self.settings[0];
        let has = |op: &Op| match op {
            Op::Read(Probe::Slack) => slack.is_some(),
            Op::Read(Probe::Resolution) => stated.is_some(),
            Op::Read(_) => false,
            _ => true,
        };
        match program.ops.iter().all(has) {
            true => Ok(()),
            false => Err(Refusal::new("nobody has told it")),
        }
    }

    fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
        // Two cases a round.
        let (slack, stated) = self.settings[self.runs / 2];
        self.runs += 1;
        let readings = [(Probe::Slack, slack), (Probe::Resolution, stated)];
        let readings = readings.into_iter().filter_map(|(probe, value)| {
            let value = value?;
            Some(Reading { probe, value })
        });
        let sample = |slept: &Nanos| Sample {
            asked: Nanos::from_ms(1),
            outcome: Outcome {
                slept: *slept,
                ..Outcome::default()
            },
            ..Sample::default()
        };
        let sleeps = |slept: &[Nanos]| Section {
            samples: slept.iter().map(sample).collect(),
            cpu: CpuUse {
                elapsed: Nanos::from_ms(500),
                ..CpuUse::default()
            },
            ..Section::default()
        };
        let before = Section {
            readings: readings.collect(),
            ..Section::default()
        };
        let sleeper = ThreadObservations {
            sections: vec![before, sleeps(&self.slept[..1]), sleeps(&self.slept)],
            ..ThreadObservations::default()
        };
        assert!(matches!(program.ops[0], Op::Spawn { .. }));
        Ok(Observations {
            threads: vec![ThreadObservations::default(), sleeper],
            ..Observations::default()
        })
    }
}

#[test]
fn two_and_three_ticks_are_two_named_peaks() {
    let tick = Nanos::new(999_800);
    let sleep = |k: u64| tick.times(if k % 10 < 7 { 2 } else { 3 }) + Nanos::new(k % 900);
    let mut machine = Told {
        settings: vec![(None, Some(tick))],
        slept: (0..500).map(sleep).collect(),
        runs: 0,
    };
    let sleep = Call {
        method: Method::WindowsSleep,
        over: Nanos::ZERO,
    };
    let cases = timers::cases(&machine, sleep, Effort::Whole, FREE);
    let found = timers::run(&mut machine, &cases, 1, &mut quiet).unwrap();
    for m in &found.measurements {
        let timers = Timers::of(m).unwrap();
        let named: Vec<_> = timers.modes.iter().map(|m| (m.ticks, m.n)).collect();
        assert_eq!(named, [(Some(2), 350), (Some(3), 150)]);
        assert_eq!(timers.slept_ns.unwrap().n, 500);
    }
}

#[test]
fn every_round_reads_the_slack_anew_and_is_predicted_at_it() {
    let slack = |us| (Some(Nanos::from_us(us)), None);
    let mut machine = Told {
        settings: vec![slack(50), slack(2_000), slack(50)],
        slept: vec![Nanos::from_ms(1); 30],
        runs: 0,
    };
    let sleep = Call {
        method: Method::ClockNanosleep,
        over: Nanos::ZERO,
    };
    let pinned = Conditions {
        cpu: Some(1),
        hogs: 0,
        ..Conditions::default()
    };
    let cases = timers::cases(&machine, sleep, Effort::Whole, pinned);
    let mut found = timers::run(&mut machine, &cases, 3, &mut quiet)
        .unwrap()
        .measurements;
    predict_timers(&cases, &mut found).unwrap();
    let seen: BTreeMap<(u32, &str), (u64, Option<i64>)> = found
        .iter()
        .map(|m| {
            let of = Timers::of(m).unwrap();
            let slack = of.slack_ns.unwrap();
            ((of.round, of.arming.name()), (slack, m.predicted_late_ns))
        })
        .collect();
    assert_eq!(seen.len(), 6);
    for ((round, arming), (slack, predicted)) in seen {
        assert_eq!(slack, if round == 1 { 2_000_000 } else { 50_000 });
        // The rule is that of this computer; where that is not Linux, slack says
        // nothing.
        assert_eq!(predicted.is_some(), cfg!(target_os = "linux"));
        let Some(predicted) = predicted else {
            continue;
        };
        // And two readings of this computer's clock.
        let over = predicted - i64::try_from(slack).unwrap();
        assert!(
            (0..10_000).contains(&over),
            "{arming}: {predicted} at {slack}"
        );
    }
}

#[test]
fn who_yields_beside_a_competitor_waits_for_its_turn() {
    let (mut machine, _) = on("windows-10-2004,cpus=2");
    let cases = yielding::cases(Effort::Shared, Some(1));
    let found = rounds::run(&mut machine, &cases, 1, &mut quiet).unwrap();
    let [alone, beside] = &found.measurements[..] else {
        panic!("{:?}", found.measurements);
    };
    assert_eq!(
        (alone.late_ns.n, Yield::of(alone).unwrap().competitors),
        (1_000, 0)
    );
    assert!(alone.late_ns.max < 10_000, "{}", alone.late_ns.max);
    assert_eq!(Yield::of(beside).unwrap().competitors, 1);
    // A turn is some ticks of 15.6 ms, and a quarter of a second has few of them.
    assert!(beside.late_ns.min > 15_000_000, "{}", beside.late_ns.min);
    assert!((2..20).contains(&beside.late_ns.n), "{}", beside.late_ns.n);
    assert_eq!(yielding::cases(Effort::Shared, None).len(), 1);
}

#[test]
fn priority_helps_against_load() {
    let (mut machine, facts) = on("linux,cpus=2,jitter=0ns");
    let (priorities, refused) = load::priorities(&mut machine);
    assert_eq!(
        priorities,
        [Priority::Normal, Priority::Interactive, Priority::RealTime]
    );
    assert!(refused.is_empty(), "{refused:?}");
    let calls = usual_calls(&mut machine, &facts).unwrap();
    let cases = load::cases(&calls, &priorities, 2, Effort::Shared, Some(1));
    let hogs = |case: &rounds::Case| {
        let ops = case.program.ops.iter();
        ops.filter(|op| matches!(op, Op::Spawn { .. })).count()
    };
    let most = cases.iter().map(hogs).max();
    assert_eq!((cases.len(), most), (4 * 2 * 3, Some(4)));
    let found = rounds::run(&mut machine, &cases, 1, &mut quiet).unwrap();
    let of = |load: f64, priority: &str| {
        let mut found = found.measurements.iter();
        let is = |m: &&Measurement| {
            let of = Load::of(m).unwrap();
            m.subject == "futex+slack=1ns" && of.load_per_cpu == load && of.priority == priority
        };
        let m = found.find(is).unwrap();
        (m.late_ns.max, m.queued_per_wait_ns.unwrap())
    };
    assert_eq!(of(0.0, "normal"), (8_032, 0.0));
    assert_eq!(of(2.0, "real-time"), (8_031, 0.0));
    let (late, queued) = of(2.0, "normal");
    assert!(late > 1_000_000 && queued > 100_000.0, "{late} {queued}");
}

#[test]
fn each_core_has_its_line_and_its_type() {
    let (mut machine, facts) = on("linux,cpus=2,jitter=0ns");
    let sleep = usual_calls(&mut machine, &facts).unwrap()[0];
    let kinds = [Some("performance".to_owned()), None];
    let all: Vec<Core> = (0..)
        .zip(kinds)
        .map(|(cpu, kind)| Core { cpu, kind })
        .collect();
    let cases = cores::cases(sleep, &all, Effort::Quick);
    let found = rounds::run(&mut machine, &cases, 1, &mut quiet).unwrap();
    let core_type = |m| Cores::of(m).unwrap().core_type.as_deref();
    let seen: Vec<_> = found
        .measurements
        .iter()
        .map(|m| (&*m.subject, core_type(m), m.late_ns.p50))
        .collect();
    assert_eq!(
        seen,
        [
            ("CPU 0", Some("performance"), Some(58_031)),
            ("CPU 1", None, Some(58_031))
        ]
    );
}

#[test]
fn a_longer_rest_ends_later_where_idle_states_are_deep() {
    let (mut machine, facts) = on("linux,jitter=0ns");
    let calls = ladders::gap_calls(&mut machine, &facts).unwrap();
    assert_eq!(
        methods(&calls),
        [Method::SlacklessNanosleep, Method::SlacklessFutex]
    );
    let cases = ladders::gap_cases(&calls, Effort::Whole, FREE);
    let found = rounds::run(&mut machine, &cases, 1, &mut quiet).unwrap();
    let lengths = found.measurements.iter().map(asked);
    let all = ladders::GAP_LENGTHS_US.map(|us| us * 1_000);
    assert!(lengths.eq([all, all].concat()));
}

#[test]
fn times_are_as_stated() {
    let calls = |n| {
        let call = |method| Call {
            method,
            over: Nanos::from_us(60),
        };
        Method::ALL
            .into_iter()
            .take(n)
            .map(call)
            .collect::<Vec<_>>()
    };
    let seconds = |cases: &[rounds::Case]| rounds::length(cases, ROUNDS).as_secs_f64();
    // Linux has 15 calls.
    let sleep = |effort| seconds(&ladders::sleep_cases(&calls(15), effort, FREE));
    let gap = |effort| seconds(&ladders::gap_cases(&calls(2), effort, FREE));
    assert!((1.5..3.0).contains(&sleep(Effort::Quick)));
    assert!((20.0..26.0).contains(&sleep(Effort::Shared)));
    assert!((50.0..60.0).contains(&sleep(Effort::Whole)));
    assert!((0.3..1.0).contains(&gap(Effort::Quick)));
    assert!((5.0..7.0).contains(&gap(Effort::Shared)));
    assert!((20.0..26.0).contains(&gap(Effort::Whole)));
    let all = [Priority::Normal, Priority::Interactive, Priority::RealTime];
    let load = load::cases(&calls(2), &all, 2, Effort::Whole, None);
    let load = seconds(&load);
    assert!((15.0..30.0).contains(&load), "{load}");
}

#[test]
fn the_same_seed_measures_the_same() {
    let all = || {
        let (mut machine, _) = on("windows-11");
        let mut found = measure_sleep(&mut machine).measurements;
        found.extend(measure_timers("windows-11"));
        found
    };
    assert_eq!(all(), all());
}

/// A computer on which it takes another time to wake in each batch, as on a host
/// that others use too.
struct Restless(Pcg64Mcg);

impl Machine for Restless {
    fn check(&self, _: &Program) -> Result<(), Refusal> {
        Ok(())
    }

    fn run(&mut self, program: &Program) -> Result<Observations, Refusal> {
        let wake = 10 + self.0.next_u64() % 50;
        let model = Model::parse(&format!("linux,wake={wake}us,jitter={}us", wake / 4));
        let model = model.map_err(|why| Refusal::new(why.to_string()))?;
        SimMachine::new(model, self.0.next_u64()).run(program)
    }
}

#[test]
fn a_restless_machine_is_hardly_ever_told_apart_from_itself() {
    let calls = [Method::ClockNanosleep, Method::Timerfd].map(|method| Call {
        method,
        over: Nanos::from_us(60),
    });
    let cases = [
        ladders::sleep_cases(&calls, Effort::Quick, FREE),
        ladders::gap_cases(&calls, Effort::Quick, FREE),
    ];
    let measured = |seed: u128, rounds| {
        Run::of(cases.iter().flat_map(|cases| {
            let mut machine = Restless(Pcg64Mcg::new(seed));
            rounds::run(&mut machine, cases, rounds, &mut quiet)
                .unwrap()
                .measurements
        }))
    };
    let told = |rounds| {
        let (mut judged, mut apart) = (0, 0);
        for pair in 0..20 {
            let [a, b] = [2 * pair + 1, 2 * pair + 2].map(|seed| measured(seed, rounds));
            let compared = Comparison::of(&[("a", &a), ("b", &b)]);
            let cells = compared.rows.iter().filter_map(|row| row.cells[1].as_ref());
            let ratios = cells.flat_map(|cell| cell.known.values());
            for verdict in ratios.filter_map(|estimate| estimate.over_first?.verdict) {
                judged += 1;
                apart += u32::from(matches!(verdict, Verdict::Higher | Verdict::Lower));
            }
        }
        (judged, apart)
    };
    assert_eq!(told(1).0, 0);
    let (judged, apart) = told(ROUNDS);
    assert!(
        judged > 1_000 && apart * 20 <= judged,
        "{apart} of {judged}"
    );
}

/// The findings of the doctor depend on the machine; its trials do not.
#[test]
fn the_doctor_measures_judges_and_tries() {
    let findings = punctual_lab::doctor::doctor(punctual_lab::doctor::Pace::Quick).unwrap();
    assert!(!findings.judgements.is_empty() || findings.no_prediction.is_some());
    let is_linux = findings.situation.system == punctual_record::System::Linux;
    assert_eq!(findings.situation.real_time.is_some(), is_linux);
    if let Some(Err(why)) = findings.situation.real_time {
        assert!(!why.is_empty());
    }
}
