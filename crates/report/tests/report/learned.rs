//! The knowledge of strategies, in words. The numbers are invented.

use punctual_record::{Estimate, Findings, Learned, LearnedCall, LearnedClass, Run};
use punctual_report::{explained, text};

use crate::made_up;

fn learned(subject: &str, rate_hz: f64) -> Learned {
    Learned {
        experiment: "pace".to_owned(),
        subject: subject.to_owned(),
        period_ns: Some((1e9 / rate_hz).round() as u64),
        ..Learned::default()
    }
}

fn class(left_ns: u64, naps: u64, over_ns: u64, cost_ns: u64) -> LearnedClass {
    LearnedClass {
        left_from_ns: left_ns,
        left_below_ns: Some((2 * left_ns).max(32_768)),
        naps,
        over_ns_p50: over_ns,
        over_ns_p90: over_ns * 3 / 2,
        over_ns_p99: over_ns * 4,
        cpu_ns: 3_100,
        margin_ns: over_ns * 2,
        cost_ns,
        ..LearnedClass::default()
    }
}

fn call(method: &str, naps: u64, classes: Vec<LearnedClass>) -> LearnedCall {
    LearnedCall {
        method: method.to_owned(),
        naps,
        classes,
        ..LearnedCall::default()
    }
}

/// Of naps of two lengths.
fn of_two_lengths() -> Learned {
    let classes = vec![
        class(0, 2, 31_000, 61_000),
        class(524_288, 11_234, 28_700, 41_200),
    ];
    Learned {
        late_weight: Some(100.0),
        calls: vec![call("slackless-futex", 11_236, classes)],
        ..learned("adaptive-exact", 1_000.0)
    }
}

/// One call, which is late by a part of its length, and a wait that is too.
fn by_length() -> Learned {
    let mut long = class(8_388_608, 500, 2_230_000, 8_210);
    long.over_share_of_length = 0.25;
    let classes = vec![class(0, 17, 8_700, 3_400), long];
    Learned {
        late_weight: Some(1.0),
        calls: vec![call("mach_wait_until", 517, classes)],
        ..learned("adaptive-frugal", 59.94)
    }
}

/// Ticks further apart than the waits are long, or not.
fn on_ticks(rate_hz: f64) -> Learned {
    let mut on_ticks = call(
        "waitable-timer",
        564,
        vec![class(524_288, 564, 1_500_000, 0)],
    );
    on_ticks.grid_ns = Some(15_625_000);
    Learned {
        late_weight: Some(0.3),
        calls: vec![on_ticks],
        ..learned("adaptive:weight=0.3", rate_hz)
    }
}

/// Never sleeps, because that costs more.
fn only_spins() -> Learned {
    Learned {
        late_weight: Some(10.0),
        calls: vec![call(
            "timer",
            30,
            vec![class(131_072, 30, 3_000_000, 9_000_000)],
        )],
        ..learned("adaptive-balanced", 5_000.0)
    }
}

fn estimate(mean_ns: u64, bound_ns: u64, deviations: f64) -> Option<Estimate> {
    Some(Estimate {
        mean_ns,
        bound_ns,
        deviations,
        ..Estimate::default()
    })
}

fn run() -> Run {
    Run {
        beside: Findings {
            learned: vec![
                of_two_lengths(),
                by_length(),
                on_ticks(60.0),
                on_ticks(1_000.0),
                only_spins(),
                Learned {
                    nap: estimate(1_058_000, 1_350_000, 2.0),
                    ..learned("precise:x=2", 60.0)
                },
                Learned {
                    over: estimate(60_000, 81_000, 1.0),
                    ..learned("timer", 60.0)
                },
                Learned {
                    over: estimate(5_000_000, 5_000_000, 1.0),
                    ..learned("timer", 1_000.0)
                },
            ],
            ..Findings::default()
        },
        ..made_up::run()
    }
}

fn section(text: &str) -> &str {
    let begin = text.find("What had been learned").unwrap();
    &text[begin..]
}

#[test]
fn what_was_learned_stands_between_the_tables_and_the_warnings() {
    let explained = explained(&run());
    insta::assert_snapshot!("learned", section(&explained));
    assert!(explained.lines().all(|line| line.trim_end() == line));
    let begin = explained.len() - section(&explained).len();
    assert!(text(&run()).starts_with(&explained[..begin]));
    assert!(!text(&run()).contains("What had been learned"));
}

#[test]
fn it_fits_a_hundred_columns() {
    let text = explained(&run());
    let widest = section(&text).lines().map(str::len).max();
    assert!(widest <= Some(100), "{widest:?}");
}

#[test]
fn who_learned_nothing_says_so() {
    let text = explained(&made_up::run());
    assert!(section(&text).contains("Nothing: none of these strategies"));
}
