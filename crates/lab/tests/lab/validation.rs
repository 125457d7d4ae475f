//! The simulated computers do what others documented and measured.

use std::collections::BTreeSet;

use punctual_lab::articles::{self, Check};
use punctual_lab::scenario::shipped;
use punctual_lab::validation::{Evidence, Row, rows, sources};

/// Numbers that no row has.
const RESERVED: [&str; 12] = [
    "V05", "V13", "V14", "V21", "V36", "V40", "V42", "V53", "V57", "V63", "V66", "V71",
];

fn all() -> Vec<Row> {
    rows().unwrap_or_else(|error| panic!("{error}"))
}

/// Predictions too: they do not bind, but show the model's behaviour. Twice, because a row gives
/// the same each time.
#[test]
fn every_row_holds_each_time() {
    let mut broken = Vec::new();
    for row in all() {
        let outcome = row.run();
        assert_eq!(row.run(), outcome, "{}", row.id);
        let about = format!("{} {}: expected {}", row.id, row.rule, row.expected);
        match outcome {
            Ok(outcome) if outcome.holds => {}
            Ok(outcome) => broken.push(format!("{about}; got {}", outcome.got)),
            Err(refusal) => broken.push(format!("{about}; does not run: {refusal}")),
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn no_row_is_missing_or_there_twice() {
    let ids: Vec<_> = all().into_iter().map(|row| row.id).collect();
    let (of_articles, ids): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| id.starts_with('A'));
    assert_eq!(BTreeSet::from_iter(&of_articles).len(), of_articles.len());
    let all = ids.len() + RESERVED.len();
    let named = (1..=all).map(|number| format!("V{number:02}"));
    let wanted: Vec<_> = named
        .filter(|id| !RESERVED.contains(&id.as_str()))
        .collect();
    assert_eq!(ids, wanted);
}

#[test]
fn rows_that_are_fitted_are_measured_and_say_so() {
    let fitted: Vec<_> = all()
        .into_iter()
        .filter(|row| row.fitted.is_some())
        .collect();
    assert_eq!(fitted.len(), 21);
    assert!(
        fitted.len() * 4 <= all().len(),
        "more than a quarter is fitted"
    );
    for row in fitted {
        assert_eq!(row.kind, Evidence::Measured, "{}", row.id);
        assert!(!row.note.is_empty(), "{}", row.id);
    }
}

#[test]
fn each_kind_has_a_letter_of_its_own() {
    let letters = Evidence::NAMED.map(|(_, kind)| kind.letter());
    assert_eq!(String::from_iter(letters), "DMIPC");
}

#[test]
fn every_source_is_spelled_out() {
    let sources = sources().unwrap();
    let mut used = BTreeSet::new();
    for row in all() {
        for name in row.source.split([',', ';']).map(str::trim) {
            // `RULE (Windows 7/8)` and `measured by SCHED` too.
            let known = sources.keys().find(|known| {
                let rest = name.strip_prefix(known.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
                    || name.ends_with(&format!("by {known}"))
            });
            let known = known.unwrap_or_else(|| panic!("{}: nobody knows {name}", row.id));
            used.insert(known.clone());
        }
    }
    assert_eq!(used.len(), sources.len(), "sources that no row has");
}

#[test]
fn every_row_that_a_scenario_names_is_there() {
    let ids: BTreeSet<_> = all().into_iter().map(|row| row.id).collect();
    let mut named = BTreeSet::new();
    for expect in shipped::ALL
        .iter()
        .flat_map(|file| file.read().unwrap().expects)
    {
        let words = expect.source.split(|c: char| !c.is_alphanumeric());
        named.extend(words.filter(|word| is_id(word)).map(str::to_owned));
    }
    assert!(named.len() > 20, "{named:?}");
    assert!(named.is_subset(&ids), "{:?}", named.difference(&ids));
}

fn is_id(word: &str) -> bool {
    let number = word.strip_prefix('V');
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The claims about page zeroing are checked beside the page of articles.
#[test]
fn each_claim_of_an_article_names_a_row() {
    let ids: BTreeSet<_> = all().into_iter().map(|row| row.id).collect();
    for claim in articles::ALL.iter().flat_map(|article| article.claims) {
        if let Check::Row { id, .. } = claim.check {
            assert!(
                id.starts_with('Z') || ids.contains(id),
                "{id}: {}",
                claim.says
            );
        }
    }
}
