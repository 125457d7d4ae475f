//! The answer of a run: it names a best only where the rounds tell it apart.

use proptest::prelude::*;
use punctual_record::Run;
use punctual_report::{Verdict, verdict};
use punctual_zero::rows::ZeroRow;
use serde_json::json;

use crate::runs::{few, host, simulated};

/// The pools of `few` with these numbers, each from so many rounds.
fn pools(numbers: &[[f64; 3]], rounds: usize) -> Run<ZeroRow> {
    let mut run = few();
    let first = serde_json::to_value(&run.results[0]).unwrap();
    let round = first["zero"]["rounds"][0].clone();
    let row = |(i, [low, median, high]): (usize, &[f64; 3])| {
        let mut row = first.clone();
        row["subject"] = format!("lock{i}").into();
        row["zero"]["gb_per_cpu_s"] = json!({ "low": low, "median": median, "high": high });
        row["zero"]["rounds"] = vec![round.clone(); rounds].into();
        serde_json::from_value(row).unwrap()
    };
    run.results = numbers.iter().enumerate().map(row).collect();
    run
}

fn said(run: &Run<ZeroRow>) -> Verdict {
    verdict(run).unwrap()
}

#[test]
fn the_best_is_named_where_the_rounds_tell_it_apart() {
    let apart = said(&pools(&[[9.0, 10.0, 11.0], [5.0, 6.0, 7.0]], 6));
    assert!(
        apart.sentences[0].starts_with("The most memory per second of CPU time: lock0, batch 64,"),
        "{apart:?}"
    );
    let alike = said(&pools(&[[6.5, 10.0, 11.0], [5.0, 6.0, 7.0]], 6));
    assert!(
        alike.sentences[0].contains("but 1 of 1 others cannot be told apart from it"),
        "{alike:?}"
    );
    let few_rounds = said(&pools(&[[9.0, 10.0, 11.0], [5.0, 6.0, 7.0]], 3));
    assert!(few_rounds.sentences[0].contains("cannot be told apart"));
}

proptest! {
    #[test]
    fn no_best_is_named_that_intervals_do_not_separate(
        numbers in prop::collection::vec(prop::array::uniform3(0.1..100.0_f64), 1..8),
        rounds in 1..9_usize,
    ) {
        let numbers: Vec<[f64; 3]> = numbers
            .into_iter()
            .map(|mut ends| {
                ends.sort_by(f64::total_cmp);
                ends
            })
            .collect();
        let verdict = said(&pools(&numbers, rounds));
        let best = numbers.iter().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap();
        let rivals = numbers.iter().filter(|ends| *ends != best);
        let rivals = rivals.filter(|ends| rounds < 6 || ends[2] >= best[0]).count();
        let undecided = verdict.sentences[0].contains("cannot be told apart");
        prop_assert_eq!(undecided, rivals > 0, "{:?}", verdict);
        let rows = verdict.overview.unwrap().rows;
        let signs = |sign| rows.iter().filter(|row| row[1].starts_with(sign)).count();
        prop_assert_eq!(signs("* "), usize::from(rivals == 0));
        prop_assert_eq!(signs("? "), if rivals == 0 { 0 } else { rivals + 1 });
    }
}

#[test]
fn every_run_has_an_answer_that_fits() {
    for run in [host(), few(), simulated()] {
        let text = said(&run).text(80);
        assert!(text.lines().count() < 24, "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}

/// Pages that were touched for the first time, ordinary and huge ones, in nanoseconds.
fn touched(ordinary: [f64; 3], huge: [f64; 3]) -> Verdict {
    let step = |[low, median, high]: [f64; 3], huge_pages: &str| {
        let interval = json!({ "low": low, "median": median, "high": high });
        serde_json::from_value(json!({
            "experiment": "zero-probe", "part": "pages", "subject": "touch-forward", "bytes": 4096,
            "huge_pages": huge_pages,
            "page_cost": { "wall_ns_per_page": interval, "cpu_ns_per_page": interval },
        }))
        .unwrap()
    };
    said(&Run {
        results: vec![step(ordinary, "off"), step(huge, "on")],
        ..Run::default()
    })
}

#[test]
fn huge_pages_are_called_cheaper_only_where_they_are() {
    let less = touched([1900.0, 2000.0, 2100.0], [180.0, 200.0, 220.0]);
    assert!(
        less.sentences[1].contains("10.0 times less in all rounds"),
        "{less:?}"
    );
    let more = touched([180.0, 200.0, 220.0], [1900.0, 2000.0, 2100.0]);
    assert!(more.sentences[1].contains("it takes more"), "{more:?}");
    let alike = touched([150.0, 200.0, 250.0], [140.0, 190.0, 260.0]);
    assert!(alike.sentences[1].contains("not told apart"), "{alike:?}");
}
