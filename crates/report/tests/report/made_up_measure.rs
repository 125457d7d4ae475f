//! The report of `punctual measure`, for an invented machine.

use punctual_record::experiment::{
    Arming, Clocks, Cores, Gap, Lengths, Load, Sleep, Timers, Yield,
};
use punctual_record::{Experiment, Late, Measurement, Run, modes};

use crate::made_up::{self, Dice};

/// The lengths of `sleep` and `gap`, in nanoseconds.
const ASKED: [u64; 10] = [
    0,
    100_000,
    300_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    16_670_000,
    50_000_000,
    100_000_000,
];

pub(crate) fn measured(of: Experiment, subject: &str, late: &[i64]) -> Measurement {
    Measurement {
        late_ns: Late::of(late),
        samples_late_ns: late.to_vec(),
        ..Measurement::of(of, subject)
    }
}

fn late(dice: &mut Dice, n: usize, least: f64, more: f64) -> Vec<i64> {
    (0..n).map(|_| dice.late_ns((least, more))).collect()
}

fn clocks() -> Vec<Measurement> {
    let steps = |n, min, p50, max| {
        Some(Lengths {
            n,
            min,
            p50,
            max,
            ..Lengths::default()
        })
    };
    let clock = |name: &str, stated_ns, step_ns, read_cost_ns, tick_written| {
        let clock = Clocks {
            stated_ns,
            step_ns,
            read_cost_ns,
            tick_written,
            ..Clocks::default()
        };
        measured(Experiment::Clocks(clock), name, &[])
    };
    let coarse = || steps(40, 5, Some(6), 9);
    vec![
        clock(
            "CLOCK_MONOTONIC",
            Some(1),
            steps(2_000, 19, Some(25), 3_140),
            steps(40, 21, Some(22), 30),
            Some(false),
        ),
        clock(
            "CLOCK_MONOTONIC_COARSE",
            Some(4_000_000),
            steps(250, 3_999_987, Some(4_000_000), 8_000_000),
            coarse(),
            Some(true),
        ),
        clock(
            "CLOCK_REALTIME_COARSE",
            Some(4_000_000),
            steps(250, 3_999_990, Some(4_000_000), 4_000_013),
            coarse(),
            Some(true),
        ),
        clock(
            "CLOCK_THREAD_CPUTIME_ID",
            None,
            steps(12, 180, None, 2_000),
            steps(40, 160, Some(171), 240),
            Some(false),
        ),
        clock("rdtsc", None, None, steps(40, 9, Some(9), 11), None),
    ]
}

/// Rounds of sleeps on a tick that is a hair below a millisecond.
fn timers(dice: &mut Dice) -> Vec<Measurement> {
    let tick = 999_800_u64;
    let mut all = Vec::new();
    for arming in [Arming::AfterWake, Arming::RandomPhase] {
        for round in 0..3 {
            let slept: Vec<u64> = (0..600)
                .map(|i| match arming {
                    Arming::AfterWake if i % 100 < 61 => 2 * tick + i * 37 % 900,
                    Arming::AfterWake => 3 * tick + i * 37 % 900,
                    Arming::RandomPhase => 1_000_000 + (dice.even() * tick as f64) as u64,
                })
                .collect();
            let late: Vec<i64> = slept.iter().map(|&ns| ns as i64 - 1_000_000).collect();
            let late_ns = Late::of(&late);
            let p50 = late_ns.p50.unwrap() + 1_000_000;
            let timers = Timers {
                asked_ns: 1_000_000,
                arming,
                round,
                stated_ns: Some(tick),
                slack_ns: None,
                step_clock: Some("timeGetTime".to_owned()),
                step_ns: Some(1_000_000 - 200),
                first_slept_ns: Some(8_740_000),
                slept_ns: Some(Lengths {
                    n: 600,
                    mean: late_ns.mean + 1e6,
                    p50: u64::try_from(p50).ok(),
                    min: *slept.iter().min().unwrap(),
                    max: *slept.iter().max().unwrap(),
                }),
                modes: modes(&slept, Some(tick)),
            };
            let mut m = measured(Experiment::Timers(timers), "Sleep(1)", &late);
            m.samples_slept_ns = slept;
            all.push(m);
        }
    }
    all
}

const CALLS: [(&str, f64); 6] = [
    ("nanosleep", 51_000.0),
    ("clock_nanosleep", 51_500.0),
    ("clock_nanosleep+TIMER_ABSTIME", 50_300.0),
    ("clock_nanosleep+slack=1ns", 4_100.0),
    ("poll", 61_000.0),
    ("timerfd", 5_300.0),
];

fn sleeps(dice: &mut Dice) -> Vec<Measurement> {
    let mut all = Vec::new();
    for (call, overshoot) in CALLS {
        for asked in ASKED {
            let n = if asked > 20_000_000 { 12 } else { 1_200 };
            let mut samples = late(dice, n, overshoot, 2_500.0);
            if call == "poll" {
                let rounded = asked.div_ceil(1_000_000) * 1_000_000 - asked;
                samples.iter_mut().for_each(|ns| *ns += rounded as i64);
                if asked == 1_000_000 {
                    samples[7] = -900_000;
                    samples[9] = -20_000;
                }
            }
            let sleep = Sleep {
                method: call.to_owned(),
                asked_ns: asked,
            };
            let mut m = measured(Experiment::Sleep(sleep), call, &samples);
            m.predicted_late_ns = (asked > 0).then_some(50_000);
            all.push(m);
        }
    }
    all
}

fn yields(dice: &mut Dice) -> Vec<Measurement> {
    [0, 1]
        .map(|competitors| {
            let mut took = late(dice, 5_000, 320.0, 90.0);
            if competitors == 1 {
                let turns = took.iter_mut().enumerate().filter(|(i, _)| i % 3 > 0);
                turns.for_each(|(i, ns)| *ns += 2_990_000 + i as i64);
            }
            measured(Experiment::Yield(Yield { competitors }), "yield", &took)
        })
        .into()
}

fn loads(dice: &mut Dice) -> Vec<Measurement> {
    let mut all = Vec::new();
    for (priority, share) in [("normal", 1.0), ("real-time", 0.02)] {
        for load in [0.0, 0.5, 1.0, 2.0] {
            let more = 3_000.0 + 900_000.0 * load * load * share;
            let samples = late(dice, 1_000, 52_000.0, more);
            let of = Load {
                asked_ns: 1_000_000,
                load_per_cpu: load,
                priority: priority.to_owned(),
            };
            let mut m = measured(Experiment::Load(of), "clock_nanosleep", &samples);
            m.queued_per_wait_ns = Some((m.late_ns.mean - 54_000.0).max(0.0));
            m.stolen_per_wait_ns = (priority == "normal").then_some(0.0);
            all.push(m);
        }
    }
    all
}

fn cores(dice: &mut Dice) -> Vec<Measurement> {
    (0..4)
        .map(|cpu| {
            let is_small = cpu > 1;
            let samples = late(
                dice,
                1_000,
                if is_small { 71_000.0 } else { 52_000.0 },
                4_000.0,
            );
            let kind = if is_small {
                "efficiency"
            } else {
                "performance"
            };
            let of = Cores {
                on_cpu: cpu,
                asked_ns: 1_000_000,
                core_type: (cpu < 3).then(|| kind.to_owned()),
            };
            measured(Experiment::Cores(of), &format!("CPU {cpu}"), &samples)
        })
        .collect()
}

fn gaps(dice: &mut Dice) -> Vec<Measurement> {
    let mut all = Vec::new();
    for call in ["clock_nanosleep", "timerfd"] {
        for (asked, n) in [
            (1_000_000, 500),
            (10_000_000, 200),
            (100_000_000, 30),
            (1_000_000_000, 8),
        ] {
            let deeper = 9_000.0 * libm::log10(asked as f64 / 1e5);
            let samples = late(dice, n, 50_000.0 + deeper, 6_000.0);
            let of = Gap {
                method: call.to_owned(),
                asked_ns: asked,
            };
            all.push(measured(Experiment::Gap(of), call, &samples));
        }
    }
    all
}

/// All experiments of `measure` except the scenarios.
pub(crate) fn run() -> Run {
    let mut dice = Dice(7);
    let mut results = clocks();
    results.extend(timers(&mut dice));
    results.extend(sleeps(&mut dice));
    results.extend(yields(&mut dice));
    results.extend(loads(&mut dice));
    results.extend(cores(&mut dice));
    results.extend(gaps(&mut dice));
    Run {
        command: "punctual measure".to_owned(),
        warnings: vec![],
        ..made_up::of(results)
    }
}
