//! A median with the interval that holds it.

use serde::{Deserialize, Serialize};

/// The median of the values of several rounds, and an interval around it. The interval holds the
/// true median with at least 95 % confidence, or with the most that so few rounds allow.
///
/// The interval is made of two of the values themselves (order statistics of
/// a binomial), so it assumes nothing about their distribution. Six rounds are
/// the fewest that reach 95 %; with fewer it is the whole range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The middle value.
    pub median: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of `values`; `None` when there are none or one of them is
    /// no number.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || values.iter().any(|v| v.is_nan()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let median = if n % 2 == 1 {
            sorted[n / 2]
        } else {
            (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0
        };
        let cut = values_to_cut(n);
        Some(Self {
            median,
            low: sorted[cut],
            high: sorted[n - 1 - cut],
        })
    }

    /// A number that has no ends of its own.
    pub const fn exactly(number: f64) -> Self {
        Self {
            median: number,
            low: number,
            high: number,
        }
    }

    /// Applies `change` to the median and to both ends.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            median: change(self.median),
            low: change(self.low),
            high: change(self.high),
        }
    }

    /// Applies `join` to both medians, and to their ends on either side.
    pub fn with(self, other: Self, join: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            median: join(self.median, other.median),
            low: join(self.low, other.low),
            high: join(self.high, other.high),
        }
    }

    /// The interval times `by`.
    pub fn scaled(self, by: f64) -> Self {
        self.map(|number| number * by)
    }

    /// `1.00 [0.98..1.05]`, its numbers as `number` writes them.
    pub fn written(self, number: impl Fn(f64) -> String) -> String {
        let [median, low, high] = [self.median, self.low, self.high].map(number);
        format!("{median} [{low}..{high}]")
    }

    /// Whether `value` lies in the interval.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The probability beyond either end of an interval that holds with 95 %.
const BEYOND_ONE_END: f64 = 0.025;

/// How many values can be cut off at either end while what is left still holds
/// the median with 95 % confidence; none where so few values cannot.
///
/// How many values lie below the median is binomial, whatever their
/// distribution. (David and Nagaraja, "Order Statistics", 3rd edition, 7.1.)
fn values_to_cut(n: usize) -> usize {
    // The logarithm of the probability that just `below` of them do: for many
    // values the first probabilities are less than a number can hold.
    let mut log = -(n as f64) * std::f64::consts::LN_2;
    let mut beyond = 0.0;
    let unlikely = (0..n).take_while(|&below| {
        beyond += log.exp();
        log += ((n - below) as f64 / (below + 1) as f64).ln();
        beyond <= BEYOND_ONE_END
    });
    unlikely.count().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_agree_with_the_published_table_of_the_sign_test() {
        // The critical values of the two-sided sign test at 5 %.
        for (n, cut) in [
            (1, 0),
            (5, 0),
            (6, 0),
            (8, 0),
            (9, 1),
            (12, 2),
            (15, 3),
            (20, 5),
            (25, 7),
            (100, 39),
            (10_000, 4_901),
        ] {
            let k = values_to_cut(n);
            assert_eq!(k, cut, "n = {n}");
        }
    }

    #[test]
    fn median_and_ends() {
        let interval = Interval::of(&[3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!(
            interval,
            Interval {
                median: 2.5,
                low: 1.0,
                high: 10.0
            }
        );
        assert!(interval.holds(10.0) && !interval.holds(10.5));
        assert_eq!(Interval::of(&[]), None);
        assert_eq!(Interval::of(&[f64::NAN]), None);
    }
}
