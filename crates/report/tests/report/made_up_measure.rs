//! What `punctual measure` writes, of a machine that nobody has.

use std::collections::BTreeMap;

use punctual_record::{Late, Measurement, Run, modes};
use serde_json::{Value, json};

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

pub(crate) fn measured(
    experiment: &str,
    subject: &str,
    params: Value,
    late: &[i64],
    other: Value,
) -> Measurement {
    let map = |value: Value| -> BTreeMap<String, Value> {
        let map = value.as_object().cloned().unwrap_or_default();
        map.into_iter().collect()
    };
    Measurement {
        experiment: experiment.to_owned(),
        subject: subject.to_owned(),
        params: map(params),
        late_ns: Late::of(late),
        samples_late_ns: late.to_vec(),
        other: map(other),
        ..Measurement::default()
    }
}

fn late(dice: &mut Dice, n: usize, least: f64, more: f64) -> Vec<i64> {
    (0..n).map(|_| dice.late_ns((least, more))).collect()
}

fn clocks() -> Vec<Measurement> {
    let steps = |n: u64, min: u64, p50: u64, max: u64| json!({ "n": n, "min": min, "p50": p50, "max": max });
    let clock = |name: &str, other: Value| measured("clocks", name, json!({}), &[], other);
    vec![
        clock(
            "CLOCK_MONOTONIC",
            json!({ "stated_ns": 1, "step_ns": steps(2_000, 19, 25, 3_140), "read_cost_ns": steps(40, 21, 22, 30), "tick_written": false }),
        ),
        clock(
            "CLOCK_MONOTONIC_COARSE",
            json!({ "stated_ns": 4_000_000, "step_ns": steps(250, 3_999_987, 4_000_000, 8_000_000), "read_cost_ns": steps(40, 5, 6, 9), "tick_written": true }),
        ),
        clock(
            "CLOCK_REALTIME_COARSE",
            json!({ "stated_ns": 4_000_000, "step_ns": steps(250, 3_999_990, 4_000_000, 4_000_013), "read_cost_ns": steps(40, 5, 6, 9), "tick_written": true }),
        ),
        clock(
            "CLOCK_THREAD_CPUTIME_ID",
            json!({ "step_ns": { "n": 12, "min": 180, "p50": null, "max": 2_000 }, "read_cost_ns": steps(40, 160, 171, 240), "tick_written": false }),
        ),
        clock("rdtsc", json!({ "read_cost_ns": steps(40, 9, 9, 11) })),
    ]
}

/// Rounds of sleeps on a tick that is a hair below a millisecond.
fn timers(dice: &mut Dice) -> Vec<Measurement> {
    let tick = 999_800_u64;
    let mut all = Vec::new();
    for arming in ["after-wake", "random-phase"] {
        for round in 0..3 {
            let slept: Vec<u64> = (0..600)
                .map(|i| match arming {
                    "after-wake" if i % 100 < 61 => 2 * tick + i * 37 % 900,
                    "after-wake" => 3 * tick + i * 37 % 900,
                    _ => 1_000_000 + (dice.even() * tick as f64) as u64,
                })
                .collect();
            let late: Vec<i64> = slept.iter().map(|&ns| ns as i64 - 1_000_000).collect();
            let late_ns = Late::of(&late);
            let p50 = late_ns.p50.unwrap() + 1_000_000;
            let mut m = measured(
                "timers",
                "Sleep(1)",
                json!({ "asked_ns": 1_000_000, "arming": arming, "round": round }),
                &late,
                json!({
                    "stated_ns": tick,
                    "step_clock": "timeGetTime",
                    "step_ns": 1_000_000 - 200,
                    "slept_ns": { "n": 600, "mean": late_ns.mean + 1e6, "p50": p50, "min": slept.iter().min(), "max": slept.iter().max() },
                    "modes": modes(&slept, Some(tick)),
                    "first_slept_ns": 8_740_000,
                }),
            );
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
            let mut other = json!({});
            if call == "poll" {
                let rounded = asked.div_ceil(1_000_000) * 1_000_000 - asked;
                samples.iter_mut().for_each(|ns| *ns += rounded as i64);
                other = json!({ "rounded_to_ns": 1_000_000 });
                if asked == 1_000_000 {
                    samples[7] = -900_000;
                    samples[9] = -20_000;
                }
            }
            let mut m = measured(
                "sleep",
                call,
                json!({ "method": call, "asked_ns": asked }),
                &samples,
                other,
            );
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
            measured(
                "yield",
                "yield",
                json!({ "competitors": competitors }),
                &took,
                json!({}),
            )
        })
        .into()
}

fn loads(dice: &mut Dice) -> Vec<Measurement> {
    let mut all = Vec::new();
    for (priority, share) in [("normal", 1.0), ("real-time", 0.02)] {
        for load in [0.0, 0.5, 1.0, 2.0] {
            let more = 3_000.0 + 900_000.0 * load * load * share;
            let samples = late(dice, 1_000, 52_000.0, more);
            let params =
                json!({ "asked_ns": 1_000_000, "load_per_cpu": load, "priority": priority });
            let mut m = measured("load", "clock_nanosleep", params, &samples, json!({}));
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
            let mut params = json!({ "cpu": cpu, "asked_ns": 1_000_000 });
            if cpu < 3 {
                params["core_type"] = if is_small {
                    "efficiency"
                } else {
                    "performance"
                }
                .into();
            }
            measured("cores", &format!("CPU {cpu}"), params, &samples, json!({}))
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
            let params = json!({ "method": call, "asked_ns": asked });
            all.push(measured("gap", call, params, &samples, json!({})));
        }
    }
    all
}

/// All experiments of `measure` but for the scenarios.
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
