//! The simulated computers do what others documented and measured.

use std::collections::BTreeSet;

use punctual_lab::validation::{Kind, Row, SOURCES, rows};

/// The targets, by number.
const TARGETS: std::ops::RangeInclusive<u32> = 1..=72;

/// Numbers among them that no target has.
const RESERVED: [&str; 12] = [
    "V05", "V13", "V14", "V21", "V36", "V40", "V42", "V53", "V57", "V63", "V66", "V71",
];

#[test]
fn every_row_that_is_asserted_holds() {
    let mut broken = Vec::new();
    for row in rows() {
        let Row {
            id,
            rule,
            expected,
            run,
            ..
        } = row;
        match run() {
            Ok(outcome) => {
                let holds = if outcome.holds { "holds" } else { "DEVIATES" };
                println!(
                    "{id} {} {holds} {rule}: expected {expected}; got {}",
                    row.kind.letter(),
                    outcome.got
                );
                if row.kind.is_asserted() && !outcome.holds {
                    broken.push(format!(
                        "{id} {rule}: expected {expected}; got {}",
                        outcome.got
                    ));
                }
            }
            Err(refusal) => broken.push(format!("{id} {rule}: does not run: {refusal}")),
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_row_gives_the_same_each_time() {
    for row in rows() {
        assert_eq!((row.run)(), (row.run)(), "{}", row.id);
    }
}

#[test]
fn rows_are_in_order_and_none_is_there_twice() {
    let ids: Vec<_> = rows().iter().map(|row| row.id).collect();
    let unique: BTreeSet<_> = ids.iter().copied().collect();
    assert_eq!(ids, unique.into_iter().collect::<Vec<_>>());
}

#[test]
fn every_target_has_its_row() {
    let ids: BTreeSet<_> = rows().iter().map(|row| row.id.to_owned()).collect();
    for id in TARGETS.map(|number| format!("V{number:02}")) {
        assert_eq!(ids.contains(&id), !RESERVED.contains(&id.as_str()), "{id}");
    }
}

#[test]
fn every_row_says_what_it_is() {
    for row in rows() {
        for text in [row.rule, row.input, row.expected, row.tolerance, row.source] {
            assert!(!text.is_empty() && !text.contains('\n'), "{}", row.id);
        }
    }
}

#[test]
fn rows_that_are_fitted_are_measured_and_say_so() {
    let fitted: Vec<_> = rows().into_iter().filter(Row::is_fitted).collect();
    assert_eq!(fitted.len(), 15);
    for row in fitted {
        assert_eq!(row.kind, Kind::Measured, "{}", row.id);
        let outcome = (row.run)().unwrap();
        assert!(!outcome.note.is_empty(), "{}", row.id);
    }
}

#[test]
fn each_kind_has_a_letter_of_its_own() {
    let letters: String = [
        Kind::Documented,
        Kind::Measured,
        Kind::Inferred,
        Kind::Predicted,
        Kind::Calibrated,
    ]
    .map(Kind::letter)
    .into_iter()
    .collect();
    assert_eq!(letters, "DMIPC");
}

#[test]
fn every_source_is_spelled_out() {
    let mut used = std::collections::BTreeSet::new();
    for row in rows() {
        for (name, _) in SOURCES {
            if row.source.contains(name) {
                used.insert(*name);
            }
        }
        let names = row.source.split([',', ';']).map(str::trim);
        for name in names {
            let known = SOURCES.iter().any(|(known, _)| {
                name == *known
                    || name
                        .strip_prefix(known)
                        .is_some_and(|rest| rest.starts_with(" ("))
                    || name.ends_with(&format!("by {known}"))
            });
            assert!(known, "{}: nobody knows what {name} is", row.id);
        }
    }
    assert_eq!(used.len(), SOURCES.len(), "sources that no row has");
}
