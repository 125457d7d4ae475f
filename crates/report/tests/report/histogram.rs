//! Distributions for a terminal: every sample in a line, and peaks apart.

use punctual_record::{Histogram, Mode, modes};
use punctual_report::{histogram, histogram_of};

use crate::invented::Dice;

/// Sleeps of two ticks and of three, with what waking up adds.
fn two_and_three_ticks() -> (Vec<i64>, Vec<Mode>) {
    let tick = 999_800;
    let sleep = |i: u64| if i % 10 < 7 { 2 * tick } else { 3 * tick } + i * 37 % 9_000;
    let slept: Vec<u64> = (0..1_000).map(sleep).collect();
    let modes = modes(&slept, Some(tick));
    (slept.iter().map(|&ns| ns as i64).collect(), modes)
}

/// The counts in the lines.
fn counts(text: &str) -> Vec<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(" % |"));
    lines
        .map(|(before, _)| before.split_whitespace().rev().nth(1).unwrap())
        .map(|count| count.parse().unwrap())
        .collect()
}

fn is_fit_for_a_terminal(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert_eq!(line, line.trim_end());
        assert!(line.is_ascii());
    }
}

#[test]
fn two_and_three_ticks_are_two_named_peaks() {
    let (samples, modes) = two_and_three_ticks();
    let text = histogram_of("Sleep(1), after-wake", "sleeps", &samples, &modes);
    insta::assert_snapshot!("two_and_three_ticks", text);
    assert_eq!(counts(&text), [700, 0, 300]);
}

#[test]
fn peaks_that_are_close_get_bins_between_them() {
    let (mut samples, _) = two_and_three_ticks();
    samples.extend([15_625_000; 200]);
    samples.extend([2_100_000; 400]);
    let slept: Vec<u64> = samples.iter().map(|&ns| ns as u64).collect();
    let modes = modes(&slept, Some(999_800));
    assert_eq!(modes.len(), 4);
    let text = histogram_of("Sleep(1)", "sleeps", &samples, &modes);
    insta::assert_snapshot!("close_peaks", text);
    assert_eq!(counts(&text).iter().sum::<u64>(), 1_600);
}

#[test]
fn a_long_tail_is_shown_by_decades_and_what_is_far_from_it_apart() {
    let mut late: Vec<i64> = (1..=2_000).map(|i| 30_000 + 20_000_000 / i).collect();
    late.extend([-4_000, 0, 9_000_000_000]);
    let text = histogram_of("lateness of nanosleep", "waits", &late, &[]);
    insta::assert_snapshot!("long_tail", text);
    assert_eq!(counts(&text).iter().sum::<u64>(), 2_003);
}

/// Bars of the same density are about as long, wherever they stand. Counts in bins of three digits
/// have no humps that the samples do not have.
#[test]
fn what_was_counted_in_bins_has_bars_that_can_be_compared() {
    let drawn = |samples: &mut dyn Iterator<Item = f64>| {
        let mut counted = Histogram::default();
        samples.for_each(|ns| counted.record(ns as u64));
        let bins: Vec<_> = counted.bins().collect();
        histogram("watch: lateness of all waits", "waits", &bins)
    };
    let by_width = drawn(&mut (0..9_000).map(|i| 55e3 + f64::from(i)));
    let narrow = drawn(&mut (0..9_000).map(|i| 71e6 + f64::from(i * 50)));
    let by_decade = drawn(&mut (0..9_000).map(|i| 5e3 * 1e4_f64.powf(f64::from(i) / 9e3)));
    for text in [by_width, narrow, by_decade] {
        is_fit_for_a_terminal(&text);
        let counts = counts(&text);
        assert_eq!(counts.iter().sum::<u64>(), 9_000);
        let inner = counts.get(1..counts.len() - 1).unwrap_or_default();
        let (least, most) = (inner.iter().min(), inner.iter().max());
        assert!(most <= least.map(|n| n * 4 / 3).as_ref(), "{text}");
    }
}

#[test]
fn hiccups_far_away_do_not_make_bars_coarse() {
    let bins = [
        (52_031, 3),
        (55_007, 900),
        (61_023, 40),
        (2_000_895, 1),
        (9_003_007, 2),
    ];
    let text = histogram("lateness of timerfd", "waits", &bins);
    insta::assert_snapshot!("binned", text);
    is_fit_for_a_terminal(&text);
    assert!(histogram("none", "waits", &[]).contains("not measured"));
    assert!(histogram("none", "waits", &[(5, 0), (u64::MAX, 0)]).contains("not measured"));
    assert!(histogram("one", "waits", &[(u64::MAX, 4)]).contains("n = 4"));
}

#[test]
fn no_sample_is_lost_whatever_they_are() {
    let mut dice = Dice(1);
    let mut roll = move |sides: u64| (dice.even() * sides as f64) as u64;
    for round in 0..400 {
        let n = roll(300);
        let width = roll(62);
        let offset = if round % 3 == 0 {
            -((1_i64 << width) / 2)
        } else {
            0
        };
        let samples: Vec<i64> = (0..n).map(|_| roll(1 << width) as i64 + offset).collect();
        let lengths: Vec<u64> = samples.iter().map(|ns| ns.unsigned_abs()).collect();
        let text = histogram_of("random", "waits", &samples, &modes(&lengths, Some(1_000)));
        is_fit_for_a_terminal(&text);
        assert_eq!(counts(&text).iter().sum::<u64>(), n, "{text}");
        assert!(text.lines().count() <= 60, "{text}");
        let mut bins: Vec<(u64, u64)> = lengths.iter().map(|&ns| (ns, ns % 5)).collect();
        bins.sort_unstable();
        let text = histogram("random", "waits", &bins);
        is_fit_for_a_terminal(&text);
        assert_eq!(
            counts(&text).iter().sum::<u64>(),
            bins.iter().map(|b| b.1).sum::<u64>()
        );
    }
    let ends = [i64::MIN, i64::MAX, 0];
    assert_eq!(
        counts(&histogram_of("ends", "waits", &ends, &[]))
            .iter()
            .sum::<u64>(),
        3
    );
}
