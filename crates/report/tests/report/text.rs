//! The text report, whole and at its edges.

use std::fs;
use std::path::Path;

use punctual_record::experiment::{Deadlines, Learning, Naps, Pace};
use punctual_record::{
    Cpu, Disturbance, Experiment, Interval, Late, Measurement, OfExperiment, Run, Weights,
};
use punctual_report::{Page, explained, figures, text, within_columns};

use crate::{any_run, made_up, made_up_measure};

#[test]
fn every_experiment_of_a_made_up_run() {
    insta::assert_snapshot!("made_up", text(&made_up::run()));
}

#[test]
fn no_line_ends_in_a_space_and_the_same_run_gives_the_same_text() {
    let run = made_up::run();
    let text_once = text(&run);
    assert!(text_once.lines().all(|line| line.trim_end() == line));
    assert!(text_once.is_ascii());
    assert_eq!(text_once, text(&run));
}

#[test]
fn an_empty_run_says_so() {
    let empty = text(&Run::<Measurement>::default());
    assert!(empty.contains("This run has no results."), "{empty}");
    assert!(!empty.contains("Warnings"), "{empty}");
}

#[test]
fn a_run_that_could_not_go_on_says_why_and_not_to_let_it_finish() {
    let mut run: Run = Run {
        interrupted: true,
        ..Run::default()
    };
    assert!(text(&run).contains("Run it again and let it finish."));
    run.failed = Some("it broke".to_owned());
    let text = text(&run);
    assert!(text.contains("partial: it broke."), "{text}");
    assert!(!text.contains("let it finish"), "{text}");
}

#[test]
fn a_run_that_was_ended_early_warns_last() {
    let mut run = made_up::run();
    run.interrupted = true;
    let text = text(&run);
    let warnings = text.split("Warnings\n").nth(1).unwrap();
    assert!(warnings.starts_with(" 1. The run was ended before its end"));
    assert!(warnings.ends_with("    Remedy: Measure.\n"));
}

#[test]
fn naps_have_a_table_for_each_call() {
    let of = |call: &str, asked_ns| {
        let method = call.to_owned();
        Measurement::of(Experiment::Naps(Naps { method, asked_ns }), call)
    };
    let naps = |method: &str, asked_ns: u64, n: i64| Measurement {
        late_ns: Late::of(&(0..n).map(|i| 50_000 + 10 * i).collect::<Vec<_>>()),
        cpu: Cpu {
            per_wait_ns: Some(4_210.0),
            ..Cpu::default()
        },
        wakes_per_wait: (asked_ns > 10_000).then_some(0.987),
        ..of(method, asked_ns)
    };
    let mut run = Run::default();
    run.results.extend([
        naps("timerfd", 16_667_000, 140),
        naps("timerfd", 10_000, 2_000),
        naps("clock_nanosleep", 10_000, 2_000),
    ]);
    let text = text(&run);
    let tables = &text[text.find("naps with").unwrap()..];
    insta::assert_snapshot!("naps", tables);
}

#[test]
fn a_cost_can_be_set_in_relation_to_the_informed_optimum() {
    let mut run = made_up::run();
    assert!(!text(&run).contains("informed"));
    let interval = |median: f64| Interval {
        median,
        low: median * 0.9,
        high: median * 1.1,
    };
    let at_1000_hz = |m: &Measurement| Pace::of(m).is_some_and(|of| of.rate_hz == 1_000.0);
    run.results.retain(at_1000_hz);
    for (i, m) in run.results.iter_mut().enumerate() {
        m.informed_cost_ns = Weights::try_of(|weight| Some(3_900.0 + weight));
        // One of them could not be compared.
        m.cost_over_informed = (i > 0)
            .then(|| Weights::try_of(|weight| Some(interval(i as f64 + weight))))
            .flatten();
    }
    let text = text(&run);
    let from = text
        .find("pace at 1000 Hz: cost over the informed")
        .unwrap();
    let table: Vec<_> = text[from..].split("\n\n").take(1).collect();
    insta::assert_snapshot!("over_informed", table.concat());
}

#[test]
fn few_rounds_are_not_called_an_interval_of_95_percent() {
    let mut run = made_up::run();
    for m in &mut run.results {
        m.rounds.truncate(5);
        m.cost_over_best = None;
    }
    let text = text(&run);
    assert!(text.contains("Median over 5 rounds [the whole range, as 95 % need six rounds"));
    // Without the ratios, the lowest median of each weight has the mark alone.
    let pace = text.split("not capped").next().unwrap();
    assert_eq!(pace.matches("  lowest ").count(), 3);
}

#[test]
fn costs_are_lowest_tied_not_told_apart_or_dearer() {
    let mut run = made_up::run();
    run.results
        .retain(|m| Pace::of(m).is_some_and(|of| of.rate_hz == 1_000.0));
    run.results.truncate(4);
    for (i, (m, (low, high))) in (run.results.iter_mut())
        .zip([(1.0, 1.0), (1.02, 1.09), (0.4, 7.4), (1.02, 1.5)])
        .enumerate()
    {
        let ratio = Interval {
            median: high,
            low,
            high,
        };
        m.cost_over_best = Weights::try_of(|_| Some(ratio));
        let cost = m.cost_capped_interval_ns.as_mut().unwrap();
        cost.w10.median = 1e6 * (1 + i) as f64;
    }
    let text = text(&run);
    let from = text.find("lateness capped at 1 ms").unwrap();
    let marks = text[from..].lines().skip(3).take(4).map(|line| {
        let row = line.split(['[', ']']).collect::<Vec<_>>();
        let mut words = row[2].split(' ');
        words.find(|word| ["lowest", "tied", "alike"].contains(word))
    });
    assert_eq!(
        marks.collect::<Vec<_>>(),
        [Some("lowest"), Some("tied"), Some("alike"), None]
    );
}

#[test]
fn measurements_without_samples_do_not_pretend_to_zero() {
    let mut run = Run::default();
    let of = Pace {
        period_ns: 16_666_667,
        rate_hz: 60.0,
        deadlines: Deadlines::Absolute,
        warm_up_waits: 2,
        learning: Learning::KeepsState,
        frames: None,
        crowd: None,
    };
    run.results
        .push(Measurement::of(Experiment::Pace(of), "nothing"));
    let text = text(&run);
    assert!(text.contains("not measured"), "{text}");
    assert!(!text.contains(" 0 ns"), "{text}");
}

#[test]
fn what_a_file_says_of_no_samples_is_not_believed() {
    let mut run = made_up::run();
    let before = text(&run);
    for m in run.results.iter_mut().filter(|m| m.subject == "precise") {
        m.late_ns.n = 0;
    }
    let after = text(&run);
    let rows = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with("precise "));
        rows.map(str::to_owned).collect()
    };
    let costs_of = |row: &String| row.matches(" us").count() + row.matches(" ms").count() > 1;
    assert_eq!(rows(&before).len(), rows(&after).len());
    assert!(rows(&before).iter().any(costs_of));
    // The CPU time per wait is the only one left.
    assert!(!rows(&after).iter().any(costs_of), "{after}");
    assert!(figures(&run).len() < figures(&made_up::run()).len());
}

/// A reader of the numbers has to know it first.
#[test]
fn a_run_beside_others_says_so_at_its_head() {
    let busy = |others_fraction| -> Run {
        Run {
            disturbance: Some(Disturbance {
                cpus: vec![1],
                others_fraction: Some(others_fraction),
                ..Disturbance::default()
            }),
            ..Run::default()
        }
    };
    let text = punctual_report::text(&busy(0.99));
    let says = "doubt       the computer was busy, so these results include the effect of other load: others had";
    assert!(
        text.lines().take(5).any(|line| line.starts_with(says)),
        "{text}"
    );
    assert!(!punctual_report::text(&busy(0.2)).contains("doubt"));
}

/// They are what the fuzzer has found, and begins with.
#[test]
fn every_seed_is_refused_or_shown_without_what_terminals_obey() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/run");
    let files = fs::read_dir(seeds).unwrap();
    let read = files.filter(|file| {
        let text = fs::read_to_string(file.as_ref().unwrap().path()).unwrap();
        any_run::check::<Measurement>(&text, explained, &[])
    });
    assert!(read.count() > 10);
}

#[test]
fn on_a_terminal_no_line_is_wider_than_it_and_a_page_knows_of_none() {
    for run in [made_up::run(), made_up_measure::run()] {
        let whole = text(&run);
        assert_eq!(within_columns(None, || text(&run)), whole);
        for columns in [64, 80, 100] {
            let fitted = within_columns(Some(columns), || text(&run));
            let wide = fitted.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{columns}");
            // Nothing is lost: what begins a row there begins one here.
            for name in run.results.iter().map(|m| m.subject.as_str()) {
                assert!(fitted.contains(name), "{name} at {columns}:\n{fitted}");
            }
            let page = || {
                let mut page = Page::new("punctual report");
                page.add(&run);
                page.html()
            };
            assert_eq!(within_columns(Some(columns), page), page());
        }
        // It is as it was before.
        assert_eq!(text(&run), whole);
    }
}
