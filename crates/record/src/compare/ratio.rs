//! Two estimates in relation to each other.

use serde::Serialize;

/// Ratios up to this are of no account. So much do numbers of one machine differ
/// from run to run with nothing changed, whatever their rounds say: of the numbers
/// of 66 pairs of runs of `measure --quick` on a busy machine, within two minutes, 3.3 %
/// had intervals that did not overlap, and 0.8 % had some that lay further apart
/// than that. On a quiet one it is 0.4 % of 20 pairs (`runs/2026-11-22-epyc-kvm-2cpu`).
pub const MARGIN: f64 = 1.1;

/// The ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How many times as much as the first run's.
///
/// The interval reaches from the lower end over the other's upper end to the
/// upper end over the other's lower end. It holds the true ratio whenever both
/// intervals hold their values: with at least 90 %, whatever the runs have in
/// common, and with about 95 % or more where they are independent. (Rounds of
/// different runs happened at different times; there is nothing to pair.)
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// `None` where the other value is zero or early, or this one is early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The interval; `None` where one of the two has none, or reaches zero.
    #[serde(flatten)]
    pub interval: Option<Bounds>,
    /// `None` where one of the two has no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What can be said of two values that are known to an interval. Which is the
/// better one, [`Metric::more_is_better`](super::Metric::more_is_better) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No difference of more than [`MARGIN`] is shown.
    Same,
    /// The whole interval lies above the other, and by more than that.
    Higher,
    /// The whole interval lies below the other, and by more than that.
    Lower,
}

impl Verdict {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }
}

impl Ratio {
    /// `this` over `first`, each with its interval.
    pub(super) fn of(this: (f64, Option<Bounds>), first: (f64, Option<Bounds>)) -> Self {
        let both = this.1.zip(first.1);
        Self {
            value: over(this.0, first.0),
            interval: both.and_then(|(this, first)| {
                Some(Bounds {
                    low: over(this.low, first.high)?,
                    high: over(this.high, first.low)?,
                })
            }),
            verdict: both.map(|(this, first)| {
                if beyond(this.low, first.high) {
                    Verdict::Higher
                } else if beyond(first.low, this.high) {
                    Verdict::Lower
                } else {
                    Verdict::Same
                }
            }),
        }
    }
}

/// Whether the one is more than the other, and by more than the margin. (What is
/// early is negative.)
fn beyond(more: f64, less: f64) -> bool {
    more > less.max(less * MARGIN)
}

/// A ratio only of what is not negative: what is early is no multiple of
/// anything.
fn over(this: f64, first: f64) -> Option<f64> {
    let ratio = this / first;
    (this >= 0.0 && first > 0.0 && ratio.is_finite()).then_some(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(low: f64, value: f64, high: f64) -> (f64, Option<Bounds>) {
        (value, Some(Bounds { low, high }))
    }

    #[test]
    fn the_interval_of_a_ratio_is_as_wide_as_both_together() {
        let ratio = Ratio::of(estimate(18.0, 20.0, 24.0), estimate(8.0, 10.0, 12.0));
        assert_eq!(ratio.value, Some(2.0));
        let interval = ratio.interval.unwrap();
        assert_eq!((interval.low, interval.high), (1.5, 3.0));
        assert_eq!(ratio.verdict, Some(Verdict::Higher));
    }

    #[test]
    fn only_intervals_that_lie_more_than_the_margin_apart_tell_values_apart() {
        let first = estimate(8.0, 10.0, 12.0);
        let verdict = |low, high| Ratio::of(estimate(low, low, high), first).verdict;
        assert_eq!(verdict(12.0, 20.0), Some(Verdict::Same));
        assert_eq!(verdict(13.0, 20.0), Some(Verdict::Same));
        assert_eq!(verdict(13.3, 20.0), Some(Verdict::Higher));
        assert_eq!(verdict(7.0, 8.0), Some(Verdict::Same));
        assert_eq!(verdict(7.0, 7.5), Some(Verdict::Same));
        assert_eq!(verdict(7.0, 7.2), Some(Verdict::Lower));
        assert_eq!(verdict(-7.0, -6.0), Some(Verdict::Lower));
        let bare = Ratio::of((7.0, None), first);
        assert_eq!((bare.value, bare.verdict), (Some(0.7), None));
    }

    #[test]
    fn nothing_is_a_multiple_of_zero_or_of_an_early_wait() {
        let late = estimate(1.0, 2.0, 3.0);
        for other in [estimate(0.0, 0.0, 0.0), estimate(-5.0, -4.0, -3.0)] {
            let ratio = Ratio::of(late, other);
            assert_eq!((ratio.value, ratio.interval), (None, None));
            assert_eq!(ratio.verdict, Some(Verdict::Higher));
        }
        let reaches_zero = Ratio::of(late, estimate(0.0, 1.0, 2.0));
        assert_eq!(
            (reaches_zero.value, reaches_zero.interval),
            (Some(2.0), None)
        );
    }
}
