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
    assert_eq!(found.predicted_late_ns.len(), 400);
}

/// Even numbers from 0 to `most`, in no order.
fn any(i: u64, most: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 20) % (most / 2) * 2
}

/// Waits of these lengths with work before each. `end` says when each ends, by its begin and its length.
fn waits(
    lengths: &[u64],
    work_ns: u64,
    has_times: bool,
    end: impl Fn(u64, u64, u64) -> u64,
) -> Waits {
    let mut waits = Waits::default();
    let mut now = 1_000_000_000;
    for (i, asked) in (0..).zip(lengths) {
        let began = now + 500 + any(i, work_ns.max(2));
        now = end(i, began, *asked) + 8_000 + any(i + 7, 4_000);
        waits.asked_ns.push(*asked);
        waits.got_ns.push(now - began);
        if has_times {
            waits.ended_ns.push(now);
        }
    }
    waits
}

/// As a timer slack of 50 us ends a wait, and `every` so many of them on the next tick.
fn stalled(every: u64, tick_ns: u64) -> impl Fn(u64, u64, u64) -> u64 {
    move |i, began, asked| {
        let due = began + asked + 50_000;
        match i % every {
            0 => due.next_multiple_of(tick_ns),
            _ => due,
        }
    }
}

/// The first tick after the length, counted from the tick before the call.
fn from_tick(tick_ns: u64) -> impl Fn(u64, u64, u64) -> u64 {
    move |_, began, asked| (began / tick_ns * tick_ns + asked).next_multiple_of(tick_ns)
}

fn rule(waits: &Waits) -> String {
    identify(waits).rule.unwrap_or_default()
}

#[test]
fn stalls_on_a_grid_are_named_without_times_and_if_they_are_few() {
    let busy = waits(&[1_000_000; 400], 0, false, stalled(4, 4_000_000));
    assert_eq!(rule(&busy), "a busy CPU, with ticks at 250 Hz");
    let quota = waits(&[2_000_000; 300], 0, true, stalled(60, 100_000_000));
    assert_eq!(rule(&quota), "a CPU quota with a period of 100 ms");
}

/// All stalls on the grid of 20 ms lie on that of 4 ms too, and some others do.
#[test]
fn the_grid_that_chance_makes_least_is_named() {
    let both = |i: u64, began: u64, asked: u64| match i % 20 {
        0 => (began + asked).next_multiple_of(4_000_000),
        5 | 10 | 15 => (began + asked).next_multiple_of(20_000_000),
        _ => began + asked + 50_000,
    };
    let log = waits(&[1_000_000, 3_000_000].repeat(200), 5_000_000, true, both);
    assert_eq!(rule(&log), "a CPU quota with a period of 20 ms");
    let end = |i: u64, began: u64, asked: u64| match i % 20 {
        0 => began + asked + 1_000_000 + any(i, 20_000_000),
        5 | 10 | 15 => (began + asked).next_multiple_of(100_000_000),
        _ => began + asked + 50_000,
    };
    let log = waits(&[1_000_000, 3_000_000].repeat(200), 5_000_000, true, end);
    assert_eq!(rule(&log), "a CPU quota with a period of 100 ms");
    // Half of them on the grid of 100 ms would be rarer, and are too few to name it.
    let ticks = |i: u64, began: u64, asked: u64| match i % 20 {
        0 | 5 => (began + asked).next_multiple_of(4_000_000),
        10 | 15 => (began + asked).next_multiple_of(100_000_000),
        _ => began + asked + 50_000,
    };
    let log = waits(&[1_000_000, 3_000_000].repeat(200), 5_000_000, true, ticks);
    assert_eq!(rule(&log), "a busy CPU, with ticks at 250 Hz");
}

#[test]
fn stalls_of_a_long_log_are_named() {
    let long = waits(&[1_000_000; 200_000], 0, true, stalled(4, 100_000_000));
    assert_eq!(rule(&long), "a CPU quota with a period of 100 ms");
}

#[test]
fn stalls_at_random_leave_the_slack_to_be_named() {
    let stolen = waits(&[3_000_000; 400], 100_000, true, |i, began, asked| {
        let stall = if i % 13 == 0 {
            700_000 + any(i, 20_000_000)
        } else {
            0
        };
        began + asked + 50_000 + stall
    });
    assert_eq!(rule(&stolen), "Linux with a timer slack of 50 us");
    // Without times they may have been on a grid.
    let untimed = Waits {
        ended_ns: vec![],
        ..stolen
    };
    assert_eq!(identify(&untimed).outcome, IdentityOutcome::CannotTell);
}

/// A slack does not end some of the waits on ticks.
#[test]
fn stalls_on_a_grid_beside_others_leave_no_slack_to_be_named() {
    let mixed = waits(&[3_000_000; 400], 100_000, true, |i, began, asked| {
        let due = began + asked + 50_000;
        match i % 20 {
            0 => due.next_multiple_of(4_000_000) + 1_000_000,
            7 | 13 => due + 300_000,
            _ => due,
        }
    });
    assert_eq!(rule(&mixed), "");
}

#[test]
fn early_waits_name_a_tick_that_the_program_has_no_schedule_of() {
    let early = waits(&[20_000_000; 200], 12_000_000, true, from_tick(5_000_000));
    assert_eq!(rule(&early), "Windows with a clock interrupt every 5 ms");
    let untimed = Waits {
        ended_ns: vec![],
        ..early
    };
    assert_eq!(rule(&untimed), "Windows with a clock interrupt every 5 ms");
    // A loop at this rate that leaves out what it missed ends its waits so, too.
    let rate = waits(&[5_000_000; 200], 12_000_000, true, from_tick(5_000_000));
    assert_eq!(identify(&rate).outcome, IdentityOutcome::CannotTell);
}

#[test]
fn a_finer_tick_is_excluded_by_waits_that_began_late() {
    let lengths = [7_000_000; 300];
    let undisturbed = waits(&lengths, 0, true, from_tick(8_000_000));
    assert_eq!(identify(&undisturbed).outcome, IdentityOutcome::CannotTell);
    // Every 40th wakes up 5 ms late.
    let end = from_tick(8_000_000);
    let disturbed = waits(&lengths, 0, true, |i, began, asked| {
        end(i, began, asked) + if i % 40 == 0 { 5_000_000 } else { 0 }
    });
    assert_eq!(
        rule(&disturbed),
        "Windows with a clock interrupt every 8 ms"
    );
}

#[test]
fn lateness_up_to_another_length_than_the_tick_names_none() {
    let spread = |most: u64| {
        waits(&[3_000_000; 400], 0, false, move |i, began, asked| {
            began + asked + any(i, most)
        })
    };
    assert_eq!(
        rule(&spread(8_000_000)),
        "Windows with a clock interrupt every 8 ms"
    );
    assert_eq!(rule(&spread(7_300_000)), "");
}

#[test]
fn ticks_are_named_if_no_length_comes_twice() {
    let lengths: Vec<u64> = (0..400).map(|i| 500_000 + any(i, 50_000_000)).collect();
    let ticks = waits(&lengths, 300_000, false, from_tick(5_000_000));
    assert_eq!(rule(&ticks), "Windows with a clock interrupt every 5 ms");
}

#[test]
fn a_short_tick_is_named_if_lateness_ends_at_it() {
    // No whole milliseconds: timers of Windows take them, and `Sleep` does not.
    let lengths: Vec<u64> = (0..300)
        .map(|i| 1_000_000 + any(i + 5_000, 30_000_000))
        .collect();
    for (tick_ns, name) in [
        (1_000_000, "ticks of 1 ms"),
        (500_000, "Windows with a clock interrupt every 500 us"),
    ] {
        let ticks = waits(&lengths, 12_000_000, false, |_, began, asked| {
            (began + asked).next_multiple_of(tick_ns)
        });
        assert!(rule(&ticks).starts_with(name), "{:?}", identify(&ticks));
    }
    // As evenly, but up to 0.8 ms.
    let others = waits(&lengths, 12_000_000, false, |i, began, asked| {
        began + asked + any(i + 3, 800_000)
    });
    assert_eq!(rule(&others), "");
}

/// As a timer slack of 2 ms on a computer that takes 100 us to wake up: each tenth wait ends with a timer of others.
fn by_long_slack(lengths: &[u64]) -> Waits {
    waits(lengths, 0, false, |i, began, asked| {
        let slack = match i % 10 {
            0 => any(i, 2_000_000),
            _ => 2_000_000,
        };
        began + asked + slack + 80_000 + any(i, 40_000)
    })
}

#[test]
fn a_long_slack_is_named_unless_all_waits_have_one_length() {
    let found = identify(&by_long_slack(
        &[1_000_000, 3_000_000, 10_000_000].repeat(40),
    ));
    assert_eq!(
        found.rule.as_deref(),
        Some("Linux with a timer slack of 2 ms"),
        "{found:?}"
    );
    assert!(
        found.evidence[0].contains("end at most 100 us after the prediction"),
        "{found:?}"
    );
    let one = identify(&by_long_slack(&[10_000_000; 120]));
    assert_eq!(one.outcome, IdentityOutcome::CannotTell, "{one:?}");
}

/// Tier 1 of macOS delays long waits by 5 ms.
#[test]
fn a_long_slack_is_not_named_where_a_cap_of_macos_does_the_same() {
    let lengths = [21_000_000, 33_000_000, 47_000_000].repeat(40);
    let end = |i, began, asked| began + asked + 5_050_000 + any(i, 40_000);
    let found = identify(&waits(&lengths, 0, false, end));
    assert_eq!(found.outcome, IdentityOutcome::CannotTell, "{found:?}");
}

#[test]
fn a_long_slack_is_not_named_beside_many_stalls() {
    let lengths = [1_000_000, 3_000_000, 10_000_000].repeat(40);
    let end = |i, began, asked| {
        let stall = if i % 8 == 0 {
            1_000_000 + any(i, 60_000_000)
        } else {
            0
        };
        began + asked + 2_080_000 + stall + any(i, 40_000)
    };
    let found = identify(&waits(&lengths, 0, false, end));
    assert_ne!(found.outcome, IdentityOutcome::Named, "{found:?}");
}

#[test]
fn slow_wake_ups_are_told_apart_from_no_rule() {
    let late_by = |least_ns| {
        let lengths = [1_000_000, 3_000_000, 10_000_000].repeat(40);
        let end = move |i, began, asked| began + asked + least_ns + asked / 100 + any(i, 40_000);
        identify(&waits(&lengths, 0, false, end))
    };
    let slow = late_by(90_000);
    assert_eq!(slow.outcome, IdentityOutcome::CannotTell, "{slow:?}");
    assert!(
        slow.evidence[0].contains("Slow wake-ups alone can do that"),
        "{slow:?}"
    );
    let none = late_by(300_000);
    assert_eq!(none.outcome, IdentityOutcome::NoneFits, "{none:?}");
}

/// No known rule ends these waits, so the nearest one is not called a fit.
#[test]
fn a_rule_that_is_nearest_is_not_said_to_fit() {
    let waits = Waits {
        asked_ns: vec![5_000_000; 45],
        got_ns: (0..45).map(|i| 6_000_000 + any(i, 60_000)).collect(),
        ended_ns: vec![],
    };
    let found = identify(&waits);
    assert_eq!(found.outcome, IdentityOutcome::NoneFits, "{found:?}");
    assert!(found.evidence[1].ends_with(" is the nearest."), "{found:?}");
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
            ..waits.clone()
        });
        let differing = (0..64).map(|i| asked.saturating_sub(i * i));
        let _ = identify(&Waits {
            asked_ns: differing.collect(),
            ..waits
        });
    }
}
