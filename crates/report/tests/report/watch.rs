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
            n: 2_008,
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
        waits: Some(2_000),
        histogram_late_ns: vec![
            (51_007, 100),
            (55_103, 1_400),
            (92_031, 499),
            (600_063, 3),
            (9_003_007, 6),
        ],
        hiccups_in_all: 2,
        hiccups_by_cause: [
            ("own_stop", 1),
            ("queued", 1),
            ("stolen", 0),
            ("unknown", 1),
        ]
        .map(|(cause, n)| (cause.to_owned(), n))
        .into(),
        hiccups: vec![
            hiccup(
                "2026-11-21T10:00:00.600Z",
                600_000_000,
                600_000,
                Cause::Unknown,
                "600 us late: cause unknown; waited 3 us for a CPU; stolen 0 ns in 120 ms; preempted 0; faults 0",
            ),
            hiccup(
                "2026-11-21T10:00:01.900Z",
                1_900_000_000,
                300_000_000,
                Cause::OwnStop,
                "300 ms late: punctual itself was stopped, as by Ctrl-Z; not counted",
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
    let text = punctual_report::text(&watch(Watch {
        waits: Some(2_000),
        ..Watch::default()
    }));
    assert!(text.contains("None, of 2008 deadlines."), "{text}");
}

/// Its lateness is of waits, so nothing may call it that of deadlines.
#[test]
fn a_watch_of_an_older_version_says_what_its_lateness_leaves_out() {
    let mut old = watch(Watch {
        hiccups_in_all: 3,
        hiccups_by_cause: [("own_stop", 1), ("queued", 2)]
            .map(|(cause, n)| (cause.to_owned(), n))
            .into(),
        ..Watch::default()
    });
    old.results[0].late_ns.n = 2_000;
    let text = looks::report(&old);
    for words in [
        "Of 2008 deadlines 8 were missed and 2 were hiccups: 2 waited for a CPU",
        "Only `missed` has it",
    ] {
        let unbroken = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unbroken.contains(words), "{words}: {text}");
    }
}
