//! Lateness samples, summed up.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a capped mean counts one sample for at the most: 1 ms. One stall of
/// 20 ms in a hundred waits would otherwise be all the mean shows.
pub const CAP_NS: i64 = 1_000_000;

/// Lateness in nanoseconds; negative means early.
///
/// A percentile `q` is there only when at least ten samples lie above it,
/// `n (1 - q) >= 10`; a rarer one would be the accident of a few samples. Of no
/// samples the least, the largest and the means are 0, and `null` in the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Late {
    /// Samples.
    pub n: u64,
    /// Samples that were early.
    pub early: u64,
    /// The smallest.
    #[serde(deserialize_with = "or_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub min: i64,
    /// The median.
    pub p50: Option<i64>,
    /// 75 % are at most this.
    pub p75: Option<i64>,
    /// 90 % are at most this.
    pub p90: Option<i64>,
    /// 99 % are at most this.
    pub p99: Option<i64>,
    /// 99.9 % are at most this.
    pub p999: Option<i64>,
    /// The largest.
    #[serde(deserialize_with = "or_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<i64>"))]
    pub max: i64,
    /// The arithmetic mean.
    #[serde(deserialize_with = "or_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub mean: f64,
    /// The mean with every sample counted as at most [`CAP_NS`].
    #[serde(deserialize_with = "or_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub mean_capped: f64,
}

impl Late {
    /// Sums up `samples`; all zero when there are none.
    pub fn of(samples: &[i64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let percentile = |thousandths| percentile(&sorted, thousandths);
        Self {
            n: sorted.len() as u64,
            early: sorted.iter().filter(|&&late| late < 0).count() as u64,
            min,
            p50: percentile(500),
            p75: percentile(750),
            p90: percentile(900),
            p99: percentile(990),
            p999: percentile(999),
            max,
            mean: mean(&sorted, i64::MAX),
            mean_capped: mean(&sorted, CAP_NS),
        }
    }
}

impl Serialize for Late {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let any = self.n > 0;
        let mut late = serializer.serialize_struct("Late", 11)?;
        late.serialize_field("n", &self.n)?;
        late.serialize_field("early", &self.early)?;
        late.serialize_field("min", &any.then_some(self.min))?;
        late.serialize_field("p50", &self.p50)?;
        late.serialize_field("p75", &self.p75)?;
        late.serialize_field("p90", &self.p90)?;
        late.serialize_field("p99", &self.p99)?;
        late.serialize_field("p999", &self.p999)?;
        late.serialize_field("max", &any.then_some(self.max))?;
        late.serialize_field("mean", &any.then_some(self.mean))?;
        late.serialize_field("mean_capped", &any.then_some(self.mean_capped))?;
        late.end()
    }
}

/// A number, or zero for `null`.
fn or_zero<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The mean of `samples`, each counted as at most `cap`; zero for none.
pub(crate) fn mean(samples: &[i64], cap: i64) -> f64 {
    if samples.is_empty() {
        return 0.0;
    }
    let sum: i128 = samples.iter().map(|&s| i128::from(s.min(cap))).sum();
    sum as f64 / samples.len() as f64
}

/// Whether ten of `n` samples lie above the percentile.
pub(crate) fn has_percentile(n: u64, thousandths: u64) -> bool {
    n.saturating_mul(1_000 - thousandths) >= 10_000
}

/// The nearest-rank percentile, where enough samples lie above it.
pub fn percentile<T: Copy>(sorted: &[T], thousandths: usize) -> Option<T> {
    has_percentile(sorted.len() as u64, thousandths as u64)
        .then(|| nearest_rank(sorted, thousandths))
        .flatten()
}

/// The least value that so many of a thousand do not exceed, however few there
/// are; `None` of nothing.
pub fn nearest_rank<T: Copy>(sorted: &[T], thousandths: usize) -> Option<T> {
    let rank = (sorted.len() * thousandths).div_ceil(1_000);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank_and_need_ten_samples_above() {
        let samples: Vec<i64> = (1..=1_000).rev().collect();
        let late = Late::of(&samples);
        assert_eq!((late.n, late.min, late.max), (1_000, 1, 1_000));
        assert_eq!(
            (late.p50, late.p90, late.p99),
            (Some(500), Some(900), Some(990))
        );
        assert_eq!(late.p999, None);
        assert_eq!(Late::of(&samples[..20]).p50, Some(990));
        assert_eq!(Late::of(&samples[..19]).p50, None);
    }

    #[test]
    fn a_rank_is_there_however_few_there_are() {
        assert_eq!(nearest_rank(&[7], 990), Some(7));
        assert_eq!(nearest_rank(&[1, 2, 3, 4], 500), Some(2));
        let ranks = [0, 330, 340, 500, 660, 670, 1_000].map(|of| nearest_rank(&[1, 2, 3], of));
        assert_eq!(ranks, [1, 1, 2, 2, 2, 3, 3].map(Some));
        assert_eq!(nearest_rank::<u64>(&[], 500), None);
    }

    #[test]
    fn the_cap_holds_back_one_stall() {
        let mut samples = vec![1_000; 99];
        samples.push(101_000_000);
        let late = Late::of(&samples);
        assert!((late.mean - 1_010_990.0).abs() < 1e-6);
        assert!((late.mean_capped - 10_990.0).abs() < 1e-6);
    }

    #[test]
    fn of_no_samples_nothing_is_written_as_a_number() {
        let written = serde_json::to_value(Late::default()).unwrap();
        for key in ["min", "p50", "max", "mean", "mean_capped"] {
            assert!(written[key].is_null(), "{written}");
        }
        let read: Late = serde_json::from_value(written).unwrap();
        assert_eq!(read, Late::default());
        // As it was written before.
        let old = r#"{"n":0,"early":0,"min":0,"p50":null,"p75":null,"p90":null,"p99":null,
            "p999":null,"max":0,"mean":0.0,"mean_capped":0.0}"#;
        assert_eq!(serde_json::from_str::<Late>(old).unwrap(), read);
        let written = serde_json::to_value(Late::of(&[0, -5])).unwrap();
        assert_eq!(
            (&written["min"], &written["max"]),
            (&(-5).into(), &0.into())
        );
    }

    #[test]
    fn early_returns_show() {
        assert_eq!(Late::of(&[-5, 0, 5]).early, 1);
        assert_eq!(Late::of(&[]), Late::default());
    }
}
