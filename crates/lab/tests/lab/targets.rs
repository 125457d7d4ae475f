//! Targets of `adaptive` under every timer rule, in virtual time: what can be kept is kept,
//! and what cannot is said.

use punctual_core::strategies::{AnyStrategy, Defaults, LimitedBy, TargetStatus};
use punctual_core::{Nanos, Rate, StrategySpec};
use punctual_program::program::{Due, Op, SpawnKind, Subject};
use punctual_program::{Machine, Program};
use punctual_sim::{Model, SimMachine};

const WARM_UP: u64 = 10_000;
const WAITS: u64 = 20_000;

/// The result after the warm-up.
struct Seen {
    late: f64,
    spun: f64,
    passed: Nanos,
    status: TargetStatus,
}

/// Waits at a rate beside so many that work without end.
fn run(model: &str, hogs: usize, target: &str, hz: u64) -> Seen {
    let spec = StrategySpec::parse(&format!("adaptive:{target}"), Defaults::ELSEWHERE).unwrap();
    let waits = |times| Op::repeat(times, [Op::wait(Due::NextCycle)]);
    let works = Op::repeat(u64::MAX, [Op::Work(Nanos::from_ms(10))]);
    let hog = Program::from(vec![works]);
    let mut ops: Vec<Op> = (0..hogs)
        .map(|n| Op::spawn(SpawnKind::Process, &format!("hog {n}"), hog.clone()))
        .collect();
    let rate = Rate::from_hz(hz).unwrap();
    ops.extend([Op::Pace(rate), waits(WARM_UP), Op::Record]);
    ops.extend([Op::Pace(rate), waits(WAITS)]);
    let program = Program::of(Subject::Strategy(spec), ops);
    let mut machine = SimMachine::new(Model::parse(model).unwrap(), 1);
    let observations = machine.run(&program).unwrap();
    let thread = &observations.threads[0];
    let samples = &thread.sections[1].samples;
    let StrategySpec::Adaptive { target, .. } = spec else {
        unreachable!("it was read as that");
    };
    let by = target.late.map_or(Nanos::MAX, |(by, _)| by);
    let late = samples
        .iter()
        .filter(|sample| sample.outcome.late.as_ns() > by.as_ns().min(i64::MAX as u64) as i64);
    let spun: u64 = samples.iter().map(|s| s.outcome.spun.as_ns()).sum();
    let passed = samples.gaps().fold(Nanos::ZERO, |all, gap| all + gap);
    let Some(Some(AnyStrategy::Adaptive(adaptive))) = thread.learned.first() else {
        unreachable!("its strategy is adaptive");
    };
    Seen {
        late: late.count() as f64 / samples.len() as f64,
        spun: spun as f64 / passed.as_ns() as f64,
        passed,
        status: adaptive.target_status().expect("it was asked to keep one"),
    }
}

const MODELS: [&str; 6] = [
    "linux",
    "linux,jitter=8us",
    "windows-7",
    "windows-10-2004",
    "windows-11",
    "macos",
];

#[test]
fn lateness_is_kept_or_said_not_to_be() {
    let mut broken = Vec::new();
    for model in MODELS {
        for hz in [60, 1_000, 5_000] {
            for (target, often) in [
                ("late=50us/1%", 0.01),
                ("late=5us/10%", 0.1),
                ("late=1ms/0.5%", 0.005),
            ] {
                let Seen { late, status, .. } = run(model, 0, target, hz);
                let cell = format!("{model} {hz} Hz {target}: {late}, {status:?}");
                match status.limited_by {
                    LimitedBy::Unreachable => {
                        assert!(late > often, "{cell}");
                        assert!(status.late_weight > 5_000.0, "{cell}");
                        broken.push(format!("{model} {hz} {target}"));
                    }
                    LimitedBy::Lateness | LimitedBy::Neither => assert!(late <= often, "{cell}"),
                    _ => panic!("{cell}"),
                }
            }
        }
    }
    // There a nap takes three cycles at least, and one wait of 64 is slept through to see whether it
    // still does.
    assert_eq!(
        broken,
        [
            "windows-10-2004 5000 late=50us/1%",
            "windows-11 5000 late=50us/1%"
        ]
    );
}

#[test]
fn spinning_is_kept_always() {
    for model in MODELS {
        for hogs in [0, 8] {
            for hz in [60, 1_000, 5_000] {
                for (target, share) in [("spin=5%", 0.05), ("late=20us/1%:spin=1%", 0.01)] {
                    let seen = run(model, hogs, target, hz);
                    // Time not spun for a second may be saved.
                    let saved = 1e9 / seen.passed.as_ns() as f64;
                    let most = share * (1.0 + saved) * 1.01;
                    assert!(
                        seen.spun <= most,
                        "{model} {hogs} {hz} {target}: {} of {most}, {:?}",
                        seen.spun,
                        seen.status
                    );
                }
            }
        }
    }
}

#[test]
fn what_little_spinning_cannot_keep_is_said_with_what_it_can() {
    // Ticks of 15.6 ms: to be on time takes half of a CPU.
    let alone = run("windows-7", 0, "late=50us/1%", 60);
    assert_eq!(alone.status.limited_by, LimitedBy::Lateness);
    assert!(alone.spun > 0.3 && alone.late <= 0.01);
    let both = run("windows-7", 0, "late=50us/1%:spin=5%", 60);
    assert_eq!(both.status.limited_by, LimitedBy::Unreachable);
    assert!(both.spun <= 0.05 && both.late > 0.1);
    let tradeoffs = &both.status.tradeoffs;
    assert!(
        tradeoffs
            .iter()
            .any(|tried| tried.late_share > 0.1 && tried.spun_share < 0.1),
        "{tradeoffs:?}"
    );
    // Every CPU busy, and a fair scheduler: late waits are late while they spin.
    let loaded = run("linux,cpus=2", 4, "late=50us/1%", 1_000);
    let is_kept = loaded.late <= 0.01;
    assert_eq!(
        loaded.status.limited_by != LimitedBy::Unreachable,
        is_kept,
        "{} {:?}",
        loaded.late,
        loaded.status
    );
}
