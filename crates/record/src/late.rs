//! Lateness samples, summed up, and the few lengths that sleeps on a tick have.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The cap of one sample in a capped mean: 1 ms. Without it, one stall of 20 ms in a hundred waits
/// would be all the mean shows.
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
pub fn has_percentile(n: u64, ten_thousandths: u64) -> bool {
    n.saturating_mul(10_000 - ten_thousandths) >= 100_000
}

/// The nearest-rank percentile, where enough samples lie above it.
pub fn percentile<T: Copy>(sorted: &[T], thousandths: usize) -> Option<T> {
    has_percentile(sorted.len() as u64, thousandths as u64 * 10)
        .then(|| nearest_rank(sorted, thousandths))
        .flatten()
}

/// The least value that so many of a thousand do not exceed, however few there
/// are; `None` of nothing.
pub fn nearest_rank<T: Copy>(sorted: &[T], thousandths: usize) -> Option<T> {
    let rank = (sorted.len() * thousandths).div_ceil(1_000);
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The one in the middle, of two the lesser, however few there are; `None` of nothing.
pub fn median<T: Copy + Ord>(samples: &[T]) -> Option<T> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    nearest_rank(&sorted, 500)
}

/// Lengths that are closer than this belong together, whatever they are: they
/// differ by what waking up takes.
const GAP_NS: u64 = 10_000;

/// And so do lengths that are closer than this share of themselves.
const GAP_PER_CENT: u64 = 3;

/// How far a mode may be from a whole number of ticks to be named by it, as a
/// share of a tick.
const TICK_PER_CENT: u64 = 5;

/// Lengths that lie close together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// The median of them.
    pub center_ns: u64,
    /// How many there are.
    pub n: u64,
    /// The share of all that they are.
    pub share: f64,
    /// How many ticks they are long, if they are about a whole number.
    pub ticks: Option<u64>,
}

/// Sorts lengths into modes, the one with the most first.
///
/// Two neighbours in order of length that are more than 10 us and more than 3 % apart belong to
/// two modes. `tick_ns` is the interval of the clock that ended them. A mode whose centre is
/// within 5 % of a tick of a multiple is named by that multiple.
pub fn modes(samples_ns: &[u64], tick_ns: Option<u64>) -> Vec<Mode> {
    let mut sorted = samples_ns.to_vec();
    sorted.sort_unstable();
    let apart = |a: &u64, b: &u64| {
        let gap = b - a;
        gap > GAP_NS && u128::from(gap) * 100 > u128::from(*a) * u128::from(GAP_PER_CENT)
    };
    let mut modes: Vec<Mode> = sorted
        .chunk_by(|a, b| !apart(a, b))
        .filter_map(|mode| {
            let center_ns = nearest_rank(mode, 500)?;
            Some(Mode {
                center_ns,
                n: mode.len() as u64,
                share: mode.len() as f64 / sorted.len() as f64,
                ticks: tick_ns.and_then(|tick_ns| ticks(center_ns, tick_ns)),
            })
        })
        .collect();
    // The sort is stable: of equally many, the shorter come first.
    modes.sort_by_key(|mode| std::cmp::Reverse(mode.n));
    modes
}

/// How many ticks a length is, if that is about a whole number.
fn ticks(ns: u64, tick_ns: u64) -> Option<u64> {
    if tick_ns == 0 {
        return None;
    }
    let ticks = ns / tick_ns + u64::from(ns % tick_ns > tick_ns / 2);
    let off = ns.abs_diff(ticks.checked_mul(tick_ns)?);
    let is_close = u128::from(off) * 100 <= u128::from(tick_ns) * u128::from(TICK_PER_CENT);
    (ticks > 0 && is_close).then_some(ticks)
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

    #[test]
    fn two_and_three_ticks_are_two_named_modes() {
        let tick = 999_800;
        let jitter = |i: u64| i * 37 % 1_000;
        let sleep = |i: u64| if i % 10 < 7 { 2 * tick } else { 3 * tick } + jitter(i);
        let samples: Vec<u64> = (0..1_000).map(sleep).collect();
        let modes = modes(&samples, Some(tick));
        let seen: Vec<_> = modes.iter().map(|m| (m.ticks, m.n, m.share)).collect();
        assert_eq!(seen, [(Some(2), 700, 0.7), (Some(3), 300, 0.3)]);
        for (mode, ticks) in modes.iter().zip([2, 3]) {
            assert!((ticks * tick..ticks * tick + 1_000).contains(&mode.center_ns));
        }
    }

    #[test]
    fn a_gap_must_be_wide_for_its_length_and_wider_than_a_wake_up() {
        let lengths = |samples: &[u64]| -> Vec<u64> {
            modes(samples, None).iter().map(|m| m.center_ns).collect()
        };
        // 9 us are 9 % of 100 us, but no more than wake-ups differ by.
        assert_eq!(lengths(&[100_000, 109_000]), [100_000]);
        assert_eq!(lengths(&[100_000, 111_000]), [100_000, 111_000]);
        // 300 us are a lot, but 2 % of 15 ms.
        assert_eq!(lengths(&[15_000_000, 15_300_000]), [15_000_000]);
        assert_eq!(lengths(&[15_000_000, 15_500_000]), [15_000_000, 15_500_000]);
        // Steps that are small each make one mode however long it is.
        let slope: Vec<u64> = (0..100).map(|i| 1_000_000 + i * 20_000).collect();
        assert_eq!(lengths(&slope).len(), 1);
    }

    #[test]
    fn only_about_whole_ticks_give_a_name() {
        let named = |ns, tick| modes(&[ns], Some(tick))[0].ticks;
        assert_eq!(named(1_040, 1_000), Some(1));
        assert_eq!(named(1_060, 1_000), None);
        assert_eq!(named(2_950, 1_000), Some(3));
        assert_eq!(named(20, 1_000), None);
        assert_eq!(named(20, 0), None);
        assert_eq!(named(u64::MAX, u64::MAX - 1), Some(1));
        assert_eq!(modes(&[], Some(1)), []);
    }
}
