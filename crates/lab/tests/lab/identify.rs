//! `identify` on logs whose rule it does not know.

use punctual_lab::identify::{Waits, identify};
use punctual_record::IdentityOutcome;

use crate::blind::Scores;

#[test]
fn blind_logs_are_named_rightly_or_not_at_all() {
    let Scores { with, without, .. } = Scores::of(0..60);
    assert!(with.right * 10 >= with.all() * 6, "{with:?}");
    assert!(
        with.wrong <= 1 && without.wrong <= 1,
        "{with:?} {without:?}"
    );
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
        found.evidence[0].contains("end within 100 us"),
        "{:?}",
        found.evidence
    );
    assert!(
        found.evidence[1].contains(" does not fit: "),
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
    assert!(found.evidence[0].starts_with("39 of the 40 waits"));
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
