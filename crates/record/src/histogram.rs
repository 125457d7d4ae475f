//! Lateness samples that are too many to keep.

use hdrhistogram::Histogram as Counts;

use crate::late::{CAP_NS, Late, has_percentile};

/// The longest lateness that is told from longer ones: 100 s.
const LONGEST_NS: u64 = 100_000_000_000;

/// How many digits of a lateness are kept.
const DIGITS: u8 = 3;

/// Lateness samples, never early, counted in bins of three significant digits
/// from 1 ns to 100 s.
///
/// The count, the least, the greatest and the mean are exact. A percentile is
/// the upper end of its bin, so it may be too high by 0.1 %, and never too low.
/// It takes 230 kB, all of it from the beginning: counting allocates nothing.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Counts<u64>,
    min: u64,
    max: u64,
    sum: u128,
    sum_capped: u128,
}

/// No samples.
impl Default for Histogram {
    fn default() -> Self {
        let counts = Counts::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self {
            counts: counts.expect("the bounds are those of a histogram"),
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_capped: 0,
        }
    }
}

impl Histogram {
    /// Counts one sample. One of over 100 s is in the last bin.
    pub fn record(&mut self, late_ns: u64) {
        self.counts.saturating_record(late_ns);
        self.min = self.min.min(late_ns);
        self.max = self.max.max(late_ns);
        self.sum += u128::from(late_ns);
        self.sum_capped += u128::from(late_ns.min(CAP_NS as u64));
    }

    /// Counts `n` samples: one of `least_ns`, and each of the others `step_ns` later than the one
    /// before it. That takes no longer for many samples than for each bin that they fall into.
    pub fn record_steps(&mut self, least_ns: u64, step_ns: u64, n: u64) {
        let Some(last) = n.checked_sub(1) else {
            return;
        };
        let max = least_ns.saturating_add(step_ns.saturating_mul(last));
        self.min = self.min.min(least_ns);
        self.max = self.max.max(max);
        self.sum += sum_of_steps(least_ns, step_ns, n);
        let cap = CAP_NS as u64;
        let below = steps_up_to(least_ns, step_ns, n, cap);
        self.sum_capped += sum_of_steps(least_ns, step_ns, below);
        self.sum_capped += u128::from(cap) * u128::from(n - below);
        let (mut from, mut left) = (least_ns, n);
        while left > 0 {
            let bound = match from < LONGEST_NS {
                true => self.counts.highest_equivalent(from),
                false => u64::MAX,
            };
            let here = steps_up_to(from, step_ns, left, bound).max(1);
            self.counts.saturating_record_n(from, here);
            from = from.saturating_add(step_ns.saturating_mul(here));
            left -= here;
        }
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        self.counts.reset();
        (self.min, self.max) = (u64::MAX, 0);
        (self.sum, self.sum_capped) = (0, 0);
    }

    /// Samples.
    pub fn n(&self) -> u64 {
        self.counts.len()
    }

    /// The sum of all samples.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// The longest of them; zero when there are none.
    pub fn max_ns(&self) -> u64 {
        self.max
    }

    /// The samples, summed up as [`Late::of`] does.
    pub fn late(&self) -> Late {
        let n = self.n();
        if n == 0 {
            return Late::default();
        }
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let percentile = |thousandths: u64| {
            has_percentile(n, thousandths * 10).then(|| {
                let upper = self.counts.value_at_quantile(thousandths as f64 / 1_000.0);
                signed(upper.clamp(self.min, self.max))
            })
        };
        Late {
            n,
            early: 0,
            min: signed(self.min),
            p50: percentile(500),
            p75: percentile(750),
            p90: percentile(900),
            p99: percentile(990),
            p999: percentile(999),
            max: signed(self.max),
            mean: self.sum as f64 / n as f64,
            mean_capped: self.sum_capped as f64 / n as f64,
        }
    }

    /// The bins that hold samples, in ascending order. Each has its longest lateness, which ends
    /// the bin, and its number of samples. It begins after the previous one.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> {
        let bins = self.counts.iter_recorded();
        bins.map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
    }
}

/// How many of `n` samples that begin at `least_ns` and are `step_ns` apart are at most `bound_ns`.
pub fn steps_up_to(least_ns: u64, step_ns: u64, n: u64, bound_ns: u64) -> u64 {
    match bound_ns.checked_sub(least_ns) {
        None => 0,
        Some(room) => n.min((room / step_ns.max(1)).saturating_add(1)),
    }
}

fn sum_of_steps(least_ns: u64, step_ns: u64, n: u64) -> u128 {
    let [least, step, n] = [least_ns, step_ns, n].map(u128::from);
    n * least + step.saturating_mul(n * n.saturating_sub(1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram_of(samples: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        samples.iter().for_each(|late| histogram.record(*late));
        histogram
    }

    #[test]
    fn what_is_longer_than_a_histogram_is_counted_and_in_the_mean() {
        let histogram = histogram_of(&[0, 3 * LONGEST_NS]);
        let late = histogram.late();
        assert_eq!((late.n, late.min, late.max), (2, 0, 300_000_000_000));
        assert_eq!((late.mean, late.mean_capped), (150e9, 500_000.0));
        assert_eq!(histogram.bins().map(|bin| bin.1).sum::<u64>(), 2);
    }

    #[test]
    fn nothing_is_nothing() {
        let mut histogram = histogram_of(&[7]);
        histogram.clear();
        assert_eq!(histogram.late(), Late::default());
        assert_eq!(histogram.bins().count(), 0);
        assert_eq!((histogram.max_ns(), histogram.sum_ns()), (0, 0));
    }

    #[test]
    fn many_steps_are_counted_at_once() {
        let mut histogram = Histogram::default();
        // A stall of 13 days that misses a deadline each 50 us.
        histogram.record_steps(10, 50_000, 22_464_000_000);
        let late = histogram.late();
        assert_eq!(
            (late.n, late.min, late.max),
            (22_464_000_000, 10, 1_123_199_999_950_010)
        );
        assert_eq!(histogram.sum_ns(), 561_599_999_975_010 * 22_464_000_000);
        histogram.record_steps(5, 1, 0);
        assert_eq!(histogram.n(), 22_464_000_000);
        let counted = |bound| steps_up_to(10, 50, 4, bound);
        assert_eq!(
            [9, 10, 59, 60, 160, 161, 1_000].map(counted),
            [0, 1, 1, 2, 4, 4, 4]
        );
    }

    proptest! {
        #[test]
        fn steps_count_as_each_of_them_would(least in 0..3_000_000_u64, step in 1..2_000_000_u64, n in 0..300_u64) {
            let (mut at_once, mut each) = (Histogram::default(), Histogram::default());
            at_once.record_steps(least, step, n);
            (0..n).for_each(|i| each.record(least + i * step));
            prop_assert_eq!(at_once.late(), each.late());
            prop_assert!(at_once.bins().eq(each.bins()));
            prop_assert_eq!(at_once.sum_ns(), each.sum_ns());
        }

        #[test]
        fn it_agrees_with_the_samples(samples in prop::collection::vec(0..LONGEST_NS, 1..3_000)) {
            let histogram = histogram_of(&samples);
            let (seen, signed): (Late, Vec<i64>) =
                (histogram.late(), samples.iter().map(|s| *s as i64).collect());
            let exact = Late::of(&signed);
            prop_assert_eq!((seen.n, seen.early, seen.min, seen.max), (exact.n, 0, exact.min, exact.max));
            prop_assert!((seen.mean - exact.mean).abs() <= exact.mean * 1e-9);
            for (seen, exact) in [
                (seen.p50, exact.p50),
                (seen.p75, exact.p75),
                (seen.p90, exact.p90),
                (seen.p99, exact.p99),
                (seen.p999, exact.p999),
            ] {
                prop_assert_eq!(seen.is_some(), exact.is_some());
                let (seen, exact) = (seen.unwrap_or(0), exact.unwrap_or(0));
                prop_assert!(seen >= exact && seen as f64 <= exact as f64 * 1.001 + 1.0);
            }
            prop_assert_eq!(histogram.bins().map(|bin| bin.1).sum::<u64>(), seen.n);
            prop_assert!(histogram.bins().is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
