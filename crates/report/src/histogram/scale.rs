//! Which bins a histogram has.

use libm::{exp10, log10};

use crate::units;

/// A scale is chosen so that the bins are at most about this many.
const BINS: f64 = 24.0;

/// Samples that differ by more than this factor are told apart by decades.
const FACTOR: f64 = 20.0;

/// What a logarithmic scale spans at most, so that one zero among milliseconds
/// does not stretch it.
const SPAN: f64 = 1e6;

/// Where the bins of a decade begin: the preferred numbers of ISO 3, which are about
/// equally far apart on a logarithmic axis.
const PER_DECADE: [&[f64]; 5] = [
    &[
        1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6, 6.3,
        7.1, 8.0, 9.0,
    ],
    &[1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0],
    &[1.0, 1.6, 2.5, 4.0, 6.3],
    &[1.0, 1.8, 3.15, 5.6],
    &[1.0],
];

/// The bins, counted from zero.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scale {
    /// Bins of one width; the middle of each is a multiple of it.
    Even {
        width_ns: i128,
        /// Which multiple is the middle of the first.
        first: i128,
        /// The unit in which middles are written, and the decimals it takes.
        unit: units::Unit,
        decimals: usize,
    },
    /// So many in each decade. Each ends where the next begins, and the last bound
    /// is only an end.
    Decades { bounds_ns: Vec<f64>, each: usize },
}

impl Scale {
    /// The scales that show samples from `low` to `high`, the best first. Those
    /// after it are for samples that it does not tell apart. One by decades
    /// begins at `usual_low`, as few small samples would stretch it.
    pub(super) fn fitting((low, usual_low): (i64, i64), high: i64) -> Vec<Self> {
        let width = even_width(low, high);
        let mut even: Vec<Self> = [1.0, 2.0, 4.0, 10.0, 20.0, 40.0]
            .map(|finer| Self::even(low, high, round_up(width / finer)))
            .into();
        even.dedup();
        if (high as f64) < FACTOR * (usual_low.max(1) as f64) {
            return even;
        }
        let mut all: Vec<Self> = PER_DECADE
            .iter()
            .rev()
            .map(|each| Self::decades(usual_low, high, each))
            .collect();
        // The finest of those that fit is the best of them.
        // The last bin may be there for its bound alone.
        let fit = all.iter().filter(|scale| scale.bins() as f64 <= BINS + 1.0);
        let coarser = fit.count().saturating_sub(1);
        all.drain(..coarser);
        all.extend(even);
        all
    }

    fn even(low: i64, high: i64, width_ns: f64) -> Self {
        let width_ns = (width_ns as i128).max(1);
        let unit = units::Unit::of((high as f64).abs().max((low as f64).abs()));
        let decimals = (0..=9).find(|&decimals| {
            let steps = width_ns as f64 / unit.ns * exp10(f64::from(decimals));
            steps >= 1.0 && (steps - steps.round()).abs() < 1e-6
        });
        Self::Even {
            width_ns,
            first: middle(low, width_ns),
            unit,
            decimals: decimals.unwrap_or(9) as usize,
        }
    }

    fn decades(low: i64, high: i64, each: &[f64]) -> Self {
        let high = (high as f64).max(1.0);
        let low = (low as f64).max(high / SPAN).max(1.0);
        let decades = log10(low).floor() as i32..=log10(high).floor() as i32 + 1;
        let mut bounds_ns: Vec<f64> = decades
            .flat_map(|decade| each.iter().map(move |m| m * exp10(decade.into())))
            .collect();
        let end = bounds_ns.partition_point(|bound| *bound <= high);
        bounds_ns.truncate(end + 1);
        let first = bounds_ns.partition_point(|bound| *bound <= low);
        bounds_ns.drain(..first.saturating_sub(1));
        Self::Decades {
            bounds_ns,
            each: each.len(),
        }
    }

    pub(super) fn is_by_decades(&self) -> bool {
        matches!(self, Self::Decades { .. })
    }

    fn bins(&self) -> usize {
        match self {
            Self::Even { .. } => BINS as usize,
            Self::Decades { bounds_ns, .. } => bounds_ns.len() - 1,
        }
    }

    /// The bin of a sample; none if it lies below the first.
    pub(super) fn bin(&self, sample: i64) -> Option<usize> {
        match self {
            Self::Even {
                width_ns, first, ..
            } => usize::try_from(middle(sample, *width_ns) - first).ok(),
            Self::Decades { bounds_ns, .. } => bounds_ns
                .partition_point(|bound| *bound <= sample as f64)
                .checked_sub(1),
        }
    }

    /// What stands beside the bar of a bin.
    pub(super) fn label(&self, bin: usize) -> String {
        match self {
            Self::Even {
                width_ns,
                first,
                unit,
                decimals,
            } => {
                let middle = (first + bin as i128) as f64 * *width_ns as f64 / unit.ns;
                format!("{middle:.decimals$} {}", unit.name)
            }
            Self::Decades { bounds_ns, .. } => bounds_ns
                .get(bin)
                .map_or_else(String::new, |&begin| units::nominal(begin)),
        }
    }

    /// What the bins are.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Even { width_ns, .. } => format!(
                "each line {} wide, around the length it names",
                units::nominal(*width_ns as f64)
            ),
            Self::Decades { each, .. } => format!(
                "{each} {} for each factor of ten, from the length it names up to the next",
                if *each == 1 { "line" } else { "lines" }
            ),
        }
    }
}

/// Which multiple of the width is closest; of two, the greater.
fn middle(sample: i64, width_ns: i128) -> i128 {
    (i128::from(sample) + width_ns / 2).div_euclid(width_ns)
}

/// How wide bins are so that there are about as many as fit. Where all samples
/// are the same, a thousandth of them.
fn even_width(low: i64, high: i64) -> f64 {
    let range = high.abs_diff(low) as f64;
    let least = (high as f64).abs().max(1.0) / 1_000.0;
    round_up((range / BINS).max(least))
}

/// The least of 1, 2, 5, 10, 20, 50, ... that is no smaller.
fn round_up(width: f64) -> f64 {
    let width = width.max(1.0);
    let decade = exp10(log10(width).floor());
    [1.0, 2.0, 5.0]
        .map(|digit| digit * decade)
        .into_iter()
        .find(|round| *round >= width * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(low: i64, high: i64) -> Vec<Scale> {
        Scale::fitting((low, low), high)
    }

    #[test]
    fn samples_within_a_decade_have_even_bins_around_round_lengths() {
        let scale = &fitting(1_000_000, 3_000_000)[0];
        assert_eq!(
            scale.in_words(),
            "each line 100 us wide, around the length it names"
        );
        assert_eq!(scale.bin(949_999), None);
        assert_eq!(scale.bin(950_000), Some(0));
        assert_eq!(scale.label(0), "1.0 ms");
        assert_eq!(scale.bin(2_990_000), Some(20));
        assert_eq!(scale.label(20), "3.0 ms");
    }

    #[test]
    fn samples_of_several_decades_have_as_many_bins_in_each_as_fit() {
        let scale = &fitting(1_000, 100_000)[0];
        assert!(scale.in_words().starts_with("10 lines for each factor"));
        assert_eq!(scale.bin(999), None);
        assert_eq!(scale.bin(1_000), Some(0));
        assert_eq!(scale.label(1), "1.25 us");
        assert_eq!(scale.bin(100_000), Some(20));
        let scale = &fitting(0, 1_000_000_000)[0];
        assert!(scale.in_words().starts_with("4 lines for each factor"));
        // A millionth of the longest is the least that is shown.
        assert_eq!(scale.bin(999), None);
        assert_eq!(scale.label(0), "1 us");
    }

    #[test]
    fn equal_samples_and_the_ends_of_the_range_have_bins() {
        for (low, high) in [(0, 0), (7, 7), (-5, 5), (i64::MIN, i64::MAX), (i64::MIN, 0)] {
            for scale in fitting(low, high) {
                let bin = scale.bin(high).unwrap();
                assert!(!scale.label(bin).is_empty(), "{low} {high} {scale:?}");
                assert!(bin < 2_000, "{low} {high} {scale:?}");
            }
        }
        assert_eq!(fitting(1_058_000, 1_058_000)[0].label(0), "1.058 ms");
    }
}
