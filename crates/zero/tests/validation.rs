//! Simulated pools do what others saw and published.

use std::collections::BTreeSet;
use std::thread;

use punctual_zero_pool::LockKind;
use punctual_zero_sim::{classes, presets};

use punctual_zero::validation::{Finding, Row, Validation, Verdict};

/// The targets that are of Windows, locks or arithmetic.
const TARGETS: [u32; 61] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 28,
    30, 31, 32, 34, 35, 36, 37, 55, 56, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74,
    75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85,
];

/// The rows that are not within their tolerance, which say why.
const EXPLAINED: [&str; 8] = ["Z23", "Z71", "Z80", "Z81", "Z82", "Z83", "Z84", "Z85"];

fn rows() -> Vec<Row> {
    Validation::load().rows
}

fn run(row: &Row) -> Finding {
    row.run().unwrap_or_else(|why| panic!("{}: {why}", row.id))
}

#[test]
fn every_row_holds_or_is_known_not_to() {
    let rows = rows();
    let findings = thread::scope(|scope| {
        let all = rows.iter().map(|row| scope.spawn(move || run(row)));
        let all: Vec<_> = all.collect();
        all.into_iter()
            .map(|one| one.join().unwrap())
            .collect::<Vec<_>>()
    });
    let mut broken = Vec::new();
    for (row, outcome) in rows.iter().zip(findings) {
        println!(
            "{} {} {}: expected {}; got {}",
            row.id,
            row.evidence.letter(),
            outcome.verdict.name(),
            row.expected,
            outcome.got
        );
        let is_fine = match outcome.verdict {
            Verdict::Holds => !EXPLAINED.contains(&&*row.id),
            Verdict::Explained => EXPLAINED.contains(&&*row.id),
            Verdict::Predicted => ["Z16", "Z17"].contains(&&*row.id),
            Verdict::Deviates => false,
        };
        if !is_fine {
            broken.push(format!("{}: {outcome:?}", row.id));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// The list of validated locks equals the rows. A lock is on it if it meets a published
/// measurement that nothing was fitted to, and misses none.
#[test]
fn a_lock_is_validated_where_every_published_point_is_met() {
    let rows = rows();
    let points = rows
        .iter()
        .filter_map(|row| Some((row, row.contest.as_ref().filter(|point| !point.fitted)?)));
    let points: Vec<_> = points
        .map(|(row, point)| {
            let name = point.on.split(',').next().unwrap();
            let preset = presets().iter().find(|preset| preset.name == name);
            let is_met = run(row).verdict == Verdict::Holds;
            (preset.unwrap().class.as_str(), point.lock, is_met)
        })
        .collect();
    for class in classes() {
        for lock in LockKind::ALL {
            let mut of_lock = points
                .iter()
                .filter(|(name, of, _)| (*name, *of) == (&*class.name, lock))
                .peekable();
            let is_validated = of_lock.peek().is_some() && of_lock.all(|(.., is_met)| *is_met);
            assert_eq!(
                class.holds.contains(&lock),
                is_validated,
                "{} {lock}",
                class.name
            );
        }
    }
}

/// Of bursts, of one pass, and of a contest.
#[test]
fn rows_are_the_same_each_time() {
    for id in ["Z04", "Z13", "Z32"] {
        let rows = rows();
        let row = rows.iter().find(|row| row.id == id).unwrap();
        assert_eq!(run(row), run(row), "{id}");
    }
}

#[test]
fn every_target_has_its_row_once() {
    let ids: Vec<_> = rows().iter().map(|row| row.id.to_owned()).collect();
    let targets = TARGETS.map(|number| format!("Z{number:02}"));
    assert_eq!(ids, targets);
}

#[test]
fn a_row_that_is_another_in_other_units_says_of_which() {
    let rows = rows();
    for (row, of) in rows
        .iter()
        .filter_map(|row| Some((row, row.same_as.as_ref()?)))
    {
        let other = rows.iter().find(|other| other.id == *of);
        assert_eq!(
            other.map(|other| other.evidence),
            Some(row.evidence),
            "{}",
            row.id
        );
        assert_ne!(row.id, *of);
    }
    assert_eq!(rows.iter().filter(|row| row.is_observation()).count(), 39);
}

#[test]
fn every_row_says_what_it_is() {
    for row in rows() {
        for text in [&row.source, &row.input, &row.expected, &row.tolerance] {
            assert!(!text.is_empty() && !text.contains('\n'), "{}", row.id);
        }
        // Nothing is named that is not published.
        let texts = [row.input, row.expected, row.tolerance, row.note];
        assert!(!texts.concat().contains('{'), "{}", row.id);
    }
}

#[test]
fn every_source_is_spelled_out_and_used() {
    let Validation { sources, rows } = Validation::load();
    let used: BTreeSet<_> = rows
        .iter()
        .flat_map(|row| row.source.split("; ").collect::<Vec<_>>())
        .collect();
    let known: BTreeSet<_> = sources.keys().map(String::as_str).collect();
    assert_eq!(used, known);
}
