//! `identify` on logs whose rule it does not know.

use std::collections::BTreeMap;

use punctual_lab::identify::{Waits, identify};
use punctual_record::IdentityOutcome;

use crate::blind::{Truth, log};

/// How often a rule was named rightly, not named, and named wrongly.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    right: u32,
    abstained: u32,
    wrong: u32,
}

impl Score {
    fn all(self) -> u32 {
        self.right + self.abstained + self.wrong
    }
}

/// The scores of so many logs, by what made them; those without a rule are right if none is named.
fn scores(seeds: std::ops::Range<u64>) -> (BTreeMap<String, Score>, [Score; 2]) {
    let mut by = BTreeMap::new();
    let mut all = [Score::default(); 2];
    for seed in seeds {
        let (truth, waits) = log(seed);
        let found = identify(&waits);
        let is_none = matches!(truth, Truth::None(_));
        let score: &mut Score = by
            .entry(format!(
                "{}{}",
                if is_none { "no rule: " } else { "" },
                truth.family()
            ))
            .or_default();
        for score in [score, &mut all[usize::from(is_none)]] {
            match &found.rule {
                Some(rule) if truth.is_named(rule) => score.right += 1,
                Some(_) => score.wrong += 1,
                None if is_none => score.right += 1,
                None => score.abstained += 1,
            }
        }
        if std::env::var_os("PUNCTUAL_SHOW").is_some() {
            let outcome = match &found.rule {
                Some(rule) if truth.is_named(rule) => "right".to_owned(),
                Some(rule) => format!("WRONG {rule}"),
                None => format!("{:?}", found.outcome),
            };
            let mut lengths = waits.asked_ns.clone();
            lengths.sort_unstable();
            lengths.dedup();
            let close: Vec<_> = found
                .candidates
                .iter()
                .take(2)
                .map(|c| format!("{} {:.2}", c.rule, c.misfit_nats))
                .collect();
            println!(
                "{seed} {truth:?} n={} lengths={} times={}: {outcome} [{}]",
                waits.got_ns.len(),
                lengths.len(),
                !waits.ended_ns.is_empty(),
                close.join("; ")
            );
        }
    }
    (by, all)
}

#[test]
fn blind_logs_are_named_rightly_or_not_at_all() {
    let (_, [with, without]) = scores(0..60);
    assert!(with.right * 10 >= with.all() * 6, "{with:?}");
    assert!(
        with.wrong <= 1 && without.wrong <= 1,
        "{with:?} {without:?}"
    );
}

/// Prints the table of docs/importing.md.
#[test]
#[ignore = "takes minutes; its result is kept in docs/importing.md"]
fn a_thousand_blind_logs() {
    let begin = std::env::var("PUNCTUAL_FROM")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(10_000);
    let count = std::env::var("PUNCTUAL_LOGS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000);
    let (by, [with, without]) = scores(begin..begin + count);
    let mut rows: Vec<(String, Score)> = by.into_iter().collect();
    rows.extend([
        ("all with a rule".to_owned(), with),
        ("all without".to_owned(), without),
    ]);
    for (name, score) in rows {
        let share = |n: u32| f64::from(n) * 100.0 / f64::from(score.all().max(1));
        println!(
            "| {name} | {} | {:.1} | {:.1} | {:.1} |",
            score.all(),
            share(score.right),
            share(score.abstained),
            share(score.wrong)
        );
    }
}

#[test]
fn sleeps_of_windows_are_named_with_what_else_they_are_not() {
    let got =
        (0..400_u64).map(|i| 15_625_000 * (1 + u64::from(i % 40 == 0)) + 12_000 + i * 37 % 9_000);
    let waits = Waits {
        asked_ns: vec![10_000_000; 400],
        got_ns: got.collect(),
        ended_ns: vec![],
    };
    let found = identify(&waits);
    assert_eq!(found.outcome, IdentityOutcome::Named, "{found:?}");
    assert_eq!(
        found.rule.as_deref(),
        Some("Windows with a clock interrupt every 15.625 ms")
    );
    assert!(
        found.evidence[0].contains("lie within 100 us"),
        "{:?}",
        found.evidence
    );
    assert!(
        found.evidence[1].starts_with("Not "),
        "{:?}",
        found.evidence
    );
    assert_eq!(found.predicted_late_ns.len(), 250);
}

#[test]
fn too_little_is_said_to_be_too_little() {
    let waits = Waits {
        asked_ns: vec![1; 39],
        got_ns: vec![2; 39],
        ended_ns: vec![],
    };
    let found = identify(&waits);
    assert_eq!(
        (found.outcome, found.rule),
        (IdentityOutcome::CannotTell, None)
    );
    assert!(found.evidence[0].contains("39 waits"));
    assert_eq!(
        identify(&Waits::default()).outcome,
        IdentityOutcome::CannotTell
    );
}

#[test]
fn frames_on_ticks_are_named_and_those_of_a_display_are_not() {
    let frames = |period: u64| Waits {
        got_ns: (0..300_u64)
            .map(|i| period * (1 + i % 2) + i * 91 % 40_000)
            .collect(),
        ..Waits::default()
    };
    assert_eq!(
        identify(&frames(15_625_000)).outcome,
        IdentityOutcome::Named
    );
    let display = identify(&frames(16_666_667));
    assert_eq!(display.outcome, IdentityOutcome::CannotTell);
    assert!(display.evidence[0].contains("display of 60 Hz"));
    assert_eq!(
        identify(&frames(7_000_000)).outcome,
        IdentityOutcome::CannotTell
    );
}

#[test]
fn extreme_lengths_are_no_panic() {
    for (asked, got) in [
        (0, 0),
        (u64::MAX / 2, 1),
        (1, u64::MAX / 2),
        (1_000_000, 1_000_000_000_000),
    ] {
        let waits = Waits {
            asked_ns: vec![asked; 64],
            got_ns: vec![got; 64],
            ended_ns: vec![got; 64],
        };
        let _ = identify(&waits);
        let _ = identify(&Waits {
            asked_ns: vec![],
            ..waits
        });
    }
}
