//! The report of a watch.

use punctual_record::experiment::{Cause, Hiccup, RanMeanwhile, Watch};
use punctual_record::{Cpu, Experiment, Late, Measurement, Run};

use crate::looks;

fn watch(seen: Watch) -> Run {
    let watch = Watch {
        period_ns: 1_000_000,
        threshold_ns: 500_000,
        on_cpu: Some(1),
        elapsed_ns: 2_008_100_000,
        ..seen
    };
    Run::of([Measurement {
        late_ns: Late {
            n: 2_000,
            min: 51_000,
            p50: Some(55_100),
            p75: Some(57_000),
            p90: Some(61_000),
            p99: Some(92_000),
            max: 9_000_000,
            mean: 62_000.0,
            ..Late::default()
        },
        cpu: Cpu {
            fraction: Some(0.012),
            ..Cpu::default()
        },
        queued_per_wait_ns: Some(710.0),
        missed: 8,
        ..Measurement::of(Experiment::Watch(Box::new(watch)), "clock_nanosleep")
    }])
}

#[test]
fn a_watch_has_its_distribution_and_its_hiccups_with_their_counters() {
    let hiccup = |at: &str, at_ns, late_ns, cause, in_words: &str| Hiccup {
        at: at.to_owned(),
        at_ns,
        late_ns,
        cause,
        in_words: in_words.to_owned(),
        ..Hiccup::default()
    };
    let run = watch(Watch {
        lost_waits: 3,
        histogram_late_ns: vec![
            (51_007, 100),
            (55_103, 1_400),
            (92_031, 498),
            (600_063, 1),
            (9_003_007, 1),
        ],
        hiccups_in_all: 2,
        hiccups_by_cause: [("queued", 1), ("stolen", 0), ("unknown", 1)]
            .map(|(cause, n)| (cause.to_owned(), n))
            .into(),
        hiccups: vec![
            hiccup(
                "2026-11-21T10:00:00.600Z",
                600_000_000,
                600_000,
                Cause::Unknown,
                "600 us late: unknown; waited 3 us for a CPU; stolen 0 ns in 120 ms; preempted 0; faults 0",
            ),
            Hiccup {
                others: vec![RanMeanwhile {
                    name: "sh".to_owned(),
                    pid: 4711,
                    ran_ns: 8_900_000,
                }],
                ..hiccup(
                    "2026-11-21T10:00:01.200Z",
                    1_200_000_000,
                    9_000_000,
                    Cause::Queued,
                    "9 ms late: waited 8.9 ms for a CPU; preempted 1; faults 0",
                )
            },
        ],
        ..Watch::default()
    });
    insta::assert_snapshot!(looks::report(&run));
    let figures = punctual_report::figures(&run);
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["watch-lateness", "watch-hiccups"]);
    for figure in &figures {
        roxmltree::Document::parse(&figure.svg).unwrap();
    }
    // Two causes, with the words of the table.
    for words in ["waited for a CPU", "unknown"] {
        assert!(figures[1].svg.contains(words), "{words}");
    }
}

#[test]
fn a_watch_without_hiccups_or_histogram_says_so() {
    let text = punctual_report::text(&watch(Watch::default()));
    assert!(text.contains("None of 2000 waits."), "{text}");
}
