//! The figures: well-formed, labelled, the same each time, and never a panic.

use punctual_record::experiment::{
    Deadlines, Decades, IntervalLength, Learning, Naps, Pace, Robustness,
};
use punctual_record::{Cpu, Experiment, Late, LateParts, LateShare, Measurement, Run, Traced};
use punctual_report::{Figure, figures};

use crate::looks::{leave_to_look_at, texts};
use crate::made_up;

fn named<'a>(figures: &'a [Figure], name: &str) -> &'a Figure {
    figures.iter().find(|f| f.name == name).unwrap()
}

#[test]
fn a_made_up_run_has_every_figure() {
    let figures = figures(&made_up::run());
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "frames-60hz",
            "lateness-60hz",
            "lateness-1000hz",
            "cost-60hz",
            "cost-1000hz",
            "tail-60hz",
            "histogram-60hz",
            "tail-1000hz",
            "histogram-1000hz",
            "decades",
            "interval",
            "robustness-precise",
            "robustness-adaptive",
        ]
    );
    leave_to_look_at(&figures, "made-up");
}

#[test]
fn every_figure_has_title_axes_n_and_machine() {
    for figure in figures(&made_up::run()) {
        let texts = texts(&figure);
        for (what, needed) in [
            ("n", "n = "),
            ("machine", "Machine: invented, Madeup OS 1.0."),
        ] {
            assert!(texts.replace('\n', " ").contains(needed), "{what}: {texts}");
        }
        let (kind, _) = figure.name.split_once('-').unwrap_or((&figure.name, ""));
        let needed = match kind {
            "frames" => [
                "Period + lateness of each wait",
                "period + lateness (ms)",
                "spin",
            ],
            "lateness" => ["Lateness of each wait at ", "lateness", "spin"],
            "cost" => ["Lateness against CPU time", "CPU time billed (%)", "spin"],
            "tail" => ["later than so much", "% of waits", "spin"],
            "histogram" => ["how late at ", "late (us)", "spin"],
            "decades" => ["Lateness by the time asked for", "median lateness", "spin"],
            "interval" => ["CPU time by the interval", "interval (ms)", "spin"],
            _ => ["Relative error of", "scheduler period", "relative error"],
        };
        for needed in needed {
            assert!(texts.contains(needed), "{}: {needed}\n{texts}", figure.name);
        }
    }
}

/// Naps of two lengths with two calls, on the invented machine.
fn naps() -> Run {
    let of = |call: &str, asked_ns| {
        let method = call.to_owned();
        Measurement::of(Experiment::Naps(Naps { method, asked_ns }), call)
    };
    let naps = |call: &str, asked_ns: u64, late_ns: i64| Measurement {
        // The tenth part of them has a tail.
        samples_late_ns: (1..=1_000)
            .map(|i| late_ns + 20_000 * i / (1_010 - i))
            .collect(),
        cpu: Cpu {
            per_wait_ns: Some(5_000.0),
            ..Cpu::default()
        },
        ..of(call, asked_ns)
    };
    Run {
        results: vec![
            naps("timerfd", 1_280_000, 30_000),
            naps("timerfd", 16_667_000, 30_000),
            naps("clock_nanosleep", 1_280_000, 80_000),
        ],
        ..made_up::run()
    }
}

#[test]
fn naps_of_the_first_call_show_that_a_quantile_is_best() {
    let figures = figures(&naps());
    let [figure] = &figures[..] else {
        panic!("{figures:?}");
    };
    assert_eq!(figure.name, "margin");
    let texts = texts(figure);
    for needed in [
        "Expected cost by margin: naps of 1.28 ms with timerfd",
        "margin",
        "expected cost of a wait",
        "w = 1",
        "w = 10",
        "w = 100",
        // 500, 910 and 991 of 1,000 are no longer: the second is 30 us + 20 us x 910 / 100.
        "w = 1: 49.6 us",
        "w = 10: 212 us",
        "w = 100: ",
    ] {
        assert!(texts.contains(needed), "{needed}\n{texts}");
    }
    let texts = texts.replace('\n', " ");
    for needed in [
        "n = 1000 overshoots",
        "(5.00 us)",
        "Machine: invented, Madeup OS 1.0.",
    ] {
        assert!(texts.contains(needed), "{needed}\n{texts}");
    }
    leave_to_look_at(&figures, "naps");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert_eq!(figures(&made_up::run()), figures(&made_up::run()));
}

#[test]
fn points_beyond_the_scale_are_counted() {
    let figures = figures(&made_up::run());
    let texts = texts(named(&figures, "frames-60hz")).replace('\n', " ");
    assert!(texts.contains("waits above it and"), "{texts}");
    assert!(texts.contains(" above "), "{texts}");
}

#[test]
fn a_run_without_results_has_no_figures() {
    assert_eq!(figures(&Run::<Measurement>::default()), []);
}

/// One made-up measurement of each experiment, with these samples.
fn edge(samples: &[i64], fraction: Option<f64>, subject: &str) -> Run {
    let pace = |deadlines| {
        Experiment::Pace(Pace {
            period_ns: 1_000_000,
            rate_hz: 1_000.0,
            deadlines,
            warm_up_waits: 0,
            learning: Learning::StartsOver,
            frames: None,
            crowd: None,
        })
    };
    let experiments = [
        pace(Deadlines::Absolute),
        pace(Deadlines::Relative),
        Experiment::Decades(Decades { asked_ns: 1 }),
        Experiment::Interval(IntervalLength {
            period_ns: 1_000_000,
            frames: None,
        }),
        Experiment::Naps(Naps {
            method: "edge".to_owned(),
            asked_ns: 1,
        }),
        Experiment::Robustness(Robustness {
            asked_ns: 1,
            scheduler_period_ns: 1_000_000,
            relative_error: Some(0.0),
        }),
    ];
    let results = experiments.map(|experiment| Measurement {
        late_ns: Late::of(samples),
        cpu: Cpu {
            fraction,
            ..Cpu::default()
        },
        samples_late_ns: samples.to_vec(),
        ..Measurement::of(experiment, subject)
    });
    Run::of(results)
}

#[test]
fn no_samples_one_sample_and_early_ones_are_drawn() {
    for (samples, fraction) in [
        (&[][..], None),
        (&[][..], Some(0.0)),
        (&[0], None),
        (&[0], Some(0.0)),
        (&[-5_000_000; 40], Some(1.0)),
        (&[i64::MAX, i64::MIN], Some(f64::INFINITY)),
        (&[7; 12_345], Some(f64::NAN)),
    ] {
        for figure in figures(&edge(samples, fraction, "edge")) {
            texts(&figure);
        }
    }
}

/// However many points lie upon each other, and wherever.
#[test]
fn every_point_of_the_cost_has_its_name_once() {
    for (late_ns, fraction) in [(-10, 0.0), (60_000, 0.01), (1_000_000_000, 1.0)] {
        let mut run = Run::default();
        let names: Vec<String> = (0..13).map(|i| format!("subject-{i}")).collect();
        for name in &names {
            run.results
                .extend(edge(&[late_ns; 30], Some(fraction), name).results);
        }
        let figures = figures(&run);
        let texts = texts(named(&figures, "cost-1000hz"));
        for name in &names {
            assert_eq!(texts.lines().filter(|line| line == name).count(), 1);
        }
        assert!(!texts.contains("99th percentile"), "{texts}");
        leave_to_look_at(&figures, &format!("cost-upon-each-other-{late_ns}"));
    }
}

#[test]
fn early_medians_are_drawn_at_one_nanosecond_and_said_to_be() {
    let figures = figures(&edge(&[-10; 30], Some(0.5), "early"));
    for name in ["decades", "cost-1000hz"] {
        let texts = texts(named(&figures, name)).replace('\n', " ");
        assert!(texts.contains("drawn at 1 ns"), "{texts}");
    }
}

#[test]
fn names_from_the_file_are_escaped() {
    // In XML the last ones cannot even be escaped.
    let run = edge(&[1, 2, 3], Some(0.1), "<b> & \"co\" ]]>\x07\u{fffe}");
    for figure in figures(&run) {
        let texts = texts(&figure);
        if !figure.name.starts_with("interval") {
            assert!(texts.contains(r#"<b> & "co" ]]>\u{7}\u{fffe}"#), "{texts}");
        }
    }
}

#[test]
fn many_subjects_and_a_long_run_stay_small_and_whole() {
    let mut run = Run::default();
    for i in 0..20 {
        let samples = [50 << i.min(12); 30_000];
        let name = format!("subject with a rather long name {i}");
        run.results.extend(edge(&samples, Some(0.1), &name).results);
    }
    let figures = figures(&run);
    for figure in &figures {
        texts(figure);
        assert!(figure.svg.len() < 1_000_000, "{}", figure.name);
    }
    leave_to_look_at(&figures, "many-subjects");
}

/// Waits of other programs, of which the names may be anything.
#[test]
fn a_trace_has_a_row_for_each_thread_and_a_bar_for_its_parts() {
    let parts = LateParts {
        slack: 50_000,
        cpu: 100_000,
        ..LateParts::default()
    };
    let share = |n: u64| LateShare {
        n,
        parts_ns: LateParts {
            slack: n * parts.slack,
            cpu: n * parts.cpu,
            ..LateParts::default()
        },
        behind: vec![],
    };
    let late = Late {
        n: 100,
        p50: Some(150_000),
        p90: Some(160_000),
        max: 170_000,
        ..Late::default()
    };
    let row = |latest: u64| {
        let of = Traced {
            all: share(100),
            middle: share(20),
            latest: share(latest),
            ..Traced::default()
        };
        Measurement {
            late_ns: late.clone(),
            ..Measurement::of(Experiment::Trace(Box::new(of)), "<b>render</b> (7)")
        }
    };
    let drawn = figures(&Run::of([row(1)]));
    let names: Vec<&str> = drawn.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["trace-lateness", "trace-parts"]);
    for figure in &drawn {
        let texts = texts(figure);
        assert!(texts.contains("n = 100 waits"), "{texts}");
        assert!(texts.contains("<b>render</b> (7)"), "{texts}");
    }
    let of_parts = texts(&drawn[1]);
    for text in ["slack", "CPU", "worst: 150 us", "150 us"] {
        assert!(of_parts.contains(text), "{of_parts}");
    }
    assert!(!of_parts.contains("interrupt"));
    // Where the latest are a third of all, they have no bar of their own.
    let alike = figures(&Run::of([row(33)]));
    assert!(!texts(&alike[1]).contains("worst: "));
    let of = Traced::default();
    let none = Measurement::of(Experiment::Trace(Box::new(of)), "idle (8)");
    assert_eq!(figures(&Run::of([none])), []);
}
