//! Made-up runs side by side.

use punctual_record::compare::{Comparison, Judgement, RuleOutcome};
use punctual_record::experiment::{Clocks, Lengths, Sleep};
use punctual_record::{Cpu, Experiment, Late, MachineFacts, Measurement, Round, Run, Warning};
use punctual_report::{comparison, comparison_figures};

use crate::made_up;

/// Sleeps of a call, in rounds of which each is later than the one before.
fn sleep(call: &str, asked_ns: u64, late_ns: i64, rounds: i64) -> Measurement {
    let rounds: Vec<Vec<i64>> = (0..rounds)
        .map(|round| (0..40).map(|i| late_ns + 100 * round + i).collect())
        .collect();
    let samples = rounds.concat();
    let of = Sleep {
        method: call.to_owned(),
        asked_ns,
    };
    Measurement {
        late_ns: Late::of(&samples),
        cpu: Cpu {
            fraction: Some(0.012),
            per_wait_ns: Some(4_000.0),
            ..Cpu::default()
        },
        rounds: (rounds.iter())
            .map(|late| Round {
                cpu_fraction: Some(0.012 + 1e-9 * late[0] as f64),
                ..Round::of(late, Some(40), Some(160_000 + late[0].unsigned_abs()))
            })
            .collect(),
        samples_late_ns: samples,
        ..Measurement::of(Experiment::Sleep(of), call)
    }
}

fn run(os: &str, results: Vec<Measurement>) -> Run {
    Run {
        started_at: Some("2026-01-02T03:04:05Z".to_owned()),
        command: "punctual measure sleep --json FILE".to_owned(),
        machine: MachineFacts {
            name: "invented".to_owned(),
            os: os.to_owned(),
            timer_rule: "a rule that was made up".to_owned(),
            ..MachineFacts::default()
        },
        results,
        ..Run::default()
    }
}

fn two() -> [Run; 2] {
    let clock = |step: u64, cost: u64| {
        let [step_ns, read_cost_ns] = [step, cost].map(|ns| {
            Some(Lengths {
                p50: Some(ns),
                ..Lengths::default()
            })
        });
        let clock = Clocks {
            step_ns,
            read_cost_ns,
            ..Clocks::default()
        };
        Measurement::of(Experiment::Clocks(clock), "CLOCK_MONOTONIC_COARSE")
    };
    let first = run(
        "Madeup OS 1.0",
        vec![
            clock(4_000_000, 8),
            sleep("usleep", 300_000, 54_000, 6),
            sleep("usleep", 1_000_000, 80_000, 6),
            sleep("poll", 1_000_000, 80_000, 1),
        ],
    );
    let mut second = run(
        "Madeup OS 2.0",
        vec![
            clock(1_000_000, 8),
            sleep("usleep", 300_000, 4_000, 6),
            sleep("usleep", 1_000_000, 80_100, 30),
            sleep("WM_TIMER", 20_000_000, -2_000, 1),
        ],
    );
    second.results[2].cpu = Cpu::default();
    second.interrupted = true;
    second.warnings.push(Warning {
        what: "The numbers are invented.".to_owned(),
        remedy: "Measure.".to_owned(),
    });
    [first, second]
}

fn judgement(outcome: RuleOutcome, why: &str) -> Judgement {
    Judgement {
        rule: "late_p50 > 1.2x".to_owned(),
        run: "B".to_owned(),
        row: 1,
        outcome,
        why: why.to_owned(),
    }
}

#[test]
fn two_made_up_runs() {
    let [first, second] = two();
    let compared = Comparison::of(&[("first.json", &first), ("second.json", &second)]);
    let mut compared = compared.beside_published(true, &[]);
    compared.rules = vec![
        judgement(RuleOutcome::Passes, "0.5 [0.4..0.6] times the first file's"),
        judgement(RuleOutcome::Fails, "1.5 [1.4..1.6] times the first file's"),
        judgement(
            RuleOutcome::Inconclusive,
            "fewer than ten samples lie above it",
        ),
    ];
    insta::assert_snapshot!("two_runs", comparison(&compared, &[]));
}

#[test]
fn one_run_has_no_ratios_but_what_others_have_published() {
    let [first, _] = two();
    let text = comparison(
        &Comparison::of(&[("first.json", &first)]).beside_published(true, &[]),
        &[],
    );
    assert!(!text.contains("over A"), "{text}");
    assert!(text.contains("published 1") && text.contains("the thread-scheduling article (2024)"));
}

#[test]
fn lines_are_short_and_end_in_no_space() {
    let [first, second] = two();
    let made_up = made_up::run();
    for runs in [
        vec![("a", &first), ("b", &second), ("c", &made_up)],
        vec![("a", &made_up), ("b", &made_up)],
        vec![("a", &Run::default())],
        vec![],
    ] {
        let text = comparison(&Comparison::of(&runs), &[]);
        for line in text.lines() {
            assert!(
                line.chars().count() <= 120 && !line.ends_with(' '),
                "{line}"
            );
        }
        assert!(text.is_ascii());
    }
}

#[test]
fn figures_have_a_mark_per_run_and_a_hollow_bar_per_published_figure() {
    let [first, second] = two();
    let compared = Comparison::of(&[("first.json", &first), ("second.json", &second)]);
    let compared = compared.beside_published(true, &[]);
    let figures = comparison_figures(&compared);
    let [figure] = &figures[..] else {
        panic!("{figures:?}");
    };
    assert_eq!(figure.name, "compare-sleep");
    let document = roxmltree::Document::parse(&figure.svg).unwrap();
    let count = |tag: &str| {
        document
            .descendants()
            .filter(|n| n.has_tag_name(tag))
            .count()
    };
    // Three discs and one in the legend.
    assert_eq!(count("circle"), 4);
    let bars = compared
        .rows
        .iter()
        .map(|row| row.published.len())
        .sum::<usize>();
    assert!(bars > 10 && count("rect") > bars);
    assert_eq!(comparison_figures(&compared), figures);
    assert!(comparison_figures(&Comparison::of::<Measurement>(&[])).is_empty());
}
