//! Lateness by bins, with its parts.

use std::collections::BTreeMap;

use punctual_core::bins::{bin, least};
use punctual_record::{CAP_NS, Late, LateParts, has_percentile};

use crate::behind::Behinds;

/// Bins of an octave: those of percentiles, and those with parts, as powers of two.
const FINE: u32 = 6;
const COARSE: u32 = 3;

/// Lateness samples in bins, 64 to an octave, and the parts of their lateness in bins of an eighth.
///
/// A percentile is interpolated within its bin, so it is at most 1.6 % from the exact one.
/// Memory depends on the number of bins with samples, never on that of samples: 4,096 at most. The histogram of Runs takes
/// 230 kB at once, and a trace has one for each thread, call and class of lengths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    fine: Bins,
    coarse: BTreeMap<u32, Share>,
    early: u64,
    sum: i128,
    capped: i128,
}

/// Lateness in fine bins, without its parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bins {
    of: BTreeMap<u32, u64>,
    n: u64,
    min: i64,
    max: i64,
}

impl Bins {
    pub(crate) fn record(&mut self, late: i64) {
        self.widen(late, late);
        self.n += 1;
        *self.of.entry(bin(late.max(0) as u64, FINE)).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if other.n > 0 {
            self.widen(other.min, other.max);
        }
        self.n += other.n;
        for (at, n) in &other.of {
            *self.of.entry(*at).or_default() += n;
        }
    }

    fn widen(&mut self, min: i64, max: i64) {
        (self.min, self.max) = match self.n {
            0 => (min, max),
            _ => (self.min.min(min), self.max.max(max)),
        };
    }

    pub(crate) const fn n(&self) -> u64 {
        self.n
    }

    /// A percentile, if enough samples lie above it.
    pub(crate) fn percentile(&self, thousandths: u64) -> Option<i64> {
        has_percentile(self.n, thousandths * 10).then(|| self.at(thousandths))
    }

    fn at(&self, thousandths: u64) -> i64 {
        let rank = (self.n * thousandths).div_ceil(1_000);
        let mut below = 0;
        for (&at, &n) in &self.of {
            if below + n >= rank {
                let (from, to) = (least(at, FINE), least(at + 1, FINE));
                let within = u128::from(to - from) * u128::from(rank - below) / u128::from(n);
                let ns = i64::try_from(from + within as u64).unwrap_or(i64::MAX);
                // Early ones are in the bin of zero.
                return ns.clamp(self.min, self.max);
            }
            below += n;
        }
        self.max
    }
}

/// The waits of a bin, and the parts of their lateness.
#[derive(Clone, Debug, Default)]
pub(crate) struct Share {
    pub(crate) n: u64,
    pub(crate) parts: LateParts,
    pub(crate) behind: Behinds,
}

impl Share {
    fn add(&mut self, other: &Self) {
        self.n += other.n;
        self.parts.add(&other.parts);
        self.behind.add(&other.behind);
    }
}

impl Histogram {
    /// Counts a wait, late by all its parts together unless it was early.
    pub(crate) fn record(&mut self, late: i64, parts: &LateParts, behind: &Behinds) {
        self.fine.record(late);
        self.early += u64::from(late < 0);
        self.sum += i128::from(late);
        self.capped += i128::from(late.min(CAP_NS));
        let share = self.coarse.entry(bin(late.max(0) as u64, COARSE));
        let share = share.or_default();
        share.n += 1;
        share.parts.add(parts);
        share.behind.add(behind);
    }

    pub(crate) const fn n(&self) -> u64 {
        self.fine.n
    }

    /// The lateness without its parts.
    pub(crate) const fn bins(&self) -> &Bins {
        &self.fine
    }

    /// All lateness together; an early wait counts as none.
    pub(crate) fn total_ns(&self) -> u64 {
        let shares = self.coarse.values().map(|share| share.parts.sum());
        shares.fold(0, u64::saturating_add)
    }

    /// Summed up.
    pub(crate) fn late(&self) -> Late {
        let Bins { n, min, max, .. } = self.fine;
        if n == 0 {
            return Late::default();
        }
        let percentile = |thousandths| self.fine.percentile(thousandths);
        Late {
            n,
            early: self.early,
            min,
            p50: percentile(500),
            p75: percentile(750),
            p90: percentile(900),
            p99: percentile(990),
            p999: percentile(999),
            max,
            mean: self.sum as f64 / n as f64,
            mean_capped: self.capped as f64 / n as f64,
        }
    }

    /// All waits.
    pub(crate) fn all(&self) -> Share {
        self.within(0, self.n())
    }

    /// The waits about the median: of its bin, and of the two bins beside it.
    pub(crate) fn middle(&self) -> Share {
        let median = self.fine.at(500).max(0) as u64;
        let mut share = Share::default();
        let at = bin(median, COARSE);
        let beside = self.coarse.range(at.saturating_sub(1)..=at + 1);
        beside.for_each(|(_, bin)| share.add(bin));
        share
    }

    /// The latest hundredth, and the others of its bins.
    pub(crate) fn latest(&self) -> Share {
        self.within(self.n() - self.n().div_ceil(100), self.n())
    }

    /// The bins that have waits from this rank to that one.
    fn within(&self, from: u64, to: u64) -> Share {
        let mut share = Share::default();
        let mut below = 0;
        for bin in self.coarse.values() {
            if below < to && below + bin.n > from {
                share.add(bin);
            }
            below += bin.n;
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[u32]) -> Histogram {
        let mut histogram = Histogram::default();
        for &ns in samples {
            let parts = LateParts {
                cpu: u64::from(ns),
                ..LateParts::default()
            };
            histogram.record(i64::from(ns), &parts, &Behinds::default());
        }
        histogram
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_samples(samples in prop::collection::vec(0..50_000_000_u32, 1000..3000)) {
            let late = of(&samples).late();
            let exact: Vec<i64> = samples.iter().map(|ns| i64::from(*ns)).collect();
            let exact = Late::of(&exact);
            for (ours, exact) in [(late.p50, exact.p50), (late.p90, exact.p90), (late.p99, exact.p99)] {
                let (ours, exact) = (ours.unwrap(), exact.unwrap());
                prop_assert!((ours - exact).abs() <= 1 + exact / 63, "{ours} {exact}");
            }
            prop_assert_eq!((late.n, late.min, late.max), (exact.n, exact.min, exact.max));
            prop_assert!((late.mean - exact.mean).abs() < 1e-3);
        }
    }

    #[test]
    fn the_latest_and_the_middle_are_whole_bins() {
        let mut samples = vec![10_000; 990];
        samples.extend([900_000; 10]);
        let histogram = of(&samples);
        assert_eq!(
            (histogram.latest().n, histogram.latest().parts.cpu),
            (10, 9_000_000)
        );
        assert_eq!(histogram.middle().n, 990);
        assert_eq!(histogram.all().n, 1000);
        assert_eq!(histogram.total_ns(), 990 * 10_000 + 9_000_000);
    }
}
