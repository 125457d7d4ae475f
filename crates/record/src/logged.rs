//! Waits and frames that another program logged.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::experiment::Parameters;
use crate::late::{CAP_NS, Late, has_percentile};

/// A series of waits or frames from the log of another program.
///
/// Lateness is in [`Measurement::late_ns`](crate::Measurement::late_ns), and lengths are here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Logged {
    /// The logged values.
    pub of: LoggedKind,
    /// The time from one deadline to the next, where the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<u64>,
    /// Whether another row has all that is in this one, as that of all threads has each thread's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// How long the waits or frames were; n is 0 where only their lateness was logged.
    #[serde(default)]
    pub lengths_ns: Late,
    /// 99.99 % of the lateness, or else of the lengths, are at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ns: Option<i64>,
    /// The greatest value in each bin, and how many values are in it. Empty where each was logged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histogram_ns: Vec<(u64, u64)>,
    /// The values that are in no bin, as they were too great for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
}

impl Parameters for Logged {
    fn params(&self) -> Value {
        match self.period_ns {
            Some(period_ns) => json!({ "of": self.of, "period_ns": period_ns }),
            None => json!({ "of": self.of }),
        }
    }
}

/// The kind of the values of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoggedKind {
    /// The lateness of deadlines at a rate.
    Deadlines,
    /// The lateness of waits, or the length that each asked for and the one that it got.
    #[default]
    Waits,
    /// Lengths of which the file does not say what was asked for.
    Lengths,
    /// The time from one frame to the next.
    Frames,
}

/// Values that are too great for a log to have told them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beyond {
    /// They are greater than this.
    pub above_ns: u64,
    /// How many there are.
    pub n: u64,
}

/// The logs that a Run was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Imported {
    /// The format, such as `cyclictest histogram`.
    pub format: String,
    /// The facts that the file cannot tell, a sentence each.
    #[serde(default)]
    pub untold: Vec<String>,
}

/// Values that were counted in bins.
#[derive(Clone, Copy, Debug)]
pub struct Binned<'b> {
    /// The greatest value in each bin in ascending order, and how many are in it.
    pub bins: &'b [(u64, u64)],
    /// The values in no bin.
    pub beyond: Option<Beyond>,
}

/// The statements of a log about values that it counts in bins.
#[derive(Clone, Copy, Debug)]
pub struct Stated {
    /// The least.
    pub min_ns: u64,
    /// The greatest.
    pub max_ns: u64,
    /// The mean.
    pub mean_ns: f64,
}

impl Binned<'_> {
    /// How many values there are.
    pub fn n(&self) -> u64 {
        let beyond = self.beyond.map_or(0, |beyond| beyond.n);
        let bins = self.bins.iter().map(|(_, n)| *n);
        bins.fold(beyond, u64::saturating_add)
    }

    /// The value that so many of ten thousand do not exceed: the greatest of its bin. `None` where
    /// fewer than ten values lie above it, or where it lies beyond the bins.
    pub fn percentile(&self, ten_thousandths: u64) -> Option<i64> {
        let n = self.n();
        if !has_percentile(n, ten_thousandths) {
            return None;
        }
        let rank = (u128::from(n) * u128::from(ten_thousandths)).div_ceil(10_000);
        let mut below = 0;
        let mut bins = self.bins.iter();
        let (ns, _) = bins.find(|(_, count)| {
            below += u128::from(*count);
            below >= rank
        })?;
        Some(signed(*ns))
    }

    /// All of them, summed up. Each value beyond the bins counts as [`CAP_NS`] in the capped mean,
    /// which is an upper bound if the bins end earlier than that.
    pub fn late(&self, stated: Stated) -> Late {
        let n = self.n();
        if n == 0 {
            return Late::default();
        }
        let cap = CAP_NS as u64;
        let capped =
            |sum: u128, (ns, n): &(u64, u64)| sum + u128::from(*n) * u128::from(cap.min(*ns));
        let beyond = self.beyond.map(|beyond| (stated.max_ns, beyond.n));
        let all = self.bins.iter().chain(&beyond);
        let capped = all.fold(0, capped) as f64 / n as f64;
        Late {
            n,
            early: 0,
            min: signed(stated.min_ns),
            p50: self.percentile(5_000),
            p75: self.percentile(7_500),
            p90: self.percentile(9_000),
            p99: self.percentile(9_900),
            p999: self.percentile(9_990),
            max: signed(stated.max_ns),
            mean: stated.mean_ns,
            mean_capped: capped,
        }
    }
}

impl Logged {
    /// The bins, with those beyond.
    pub fn binned(&self) -> Binned<'_> {
        Binned {
            bins: &self.histogram_ns,
            beyond: self.beyond,
        }
    }

    /// As many values as `most`, distributed as the log has them in bins, in ascending order; `None` where
    /// it has none, or where some lie beyond them.
    pub fn values(&self, most: u64) -> Option<Vec<i64>> {
        let n = self.binned().n();
        if n == 0 || self.beyond.is_some_and(|beyond| beyond.n > 0) {
            return None;
        }
        let (taken, mut below, mut values) = (n.min(most), 0, Vec::new());
        for (ns, count) in &self.histogram_ns {
            below += u128::from(*count);
            let until = below * u128::from(taken) / u128::from(n);
            values.resize(until as usize, signed(*ns));
        }
        Some(values)
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATED: Stated = Stated {
        min_ns: 1,
        max_ns: 4_464_000,
        mean_ns: 3.5,
    };

    #[test]
    fn values_beyond_the_bins_count_in_ranks_and_are_never_a_percentile() {
        let beyond = |n| {
            Some(Beyond {
                above_ns: 99_000,
                n,
            })
        };
        let bins = [(3_000, 9_000), (12_000, 975), (99_000, 20)];
        let whole = Binned {
            bins: &bins,
            beyond: beyond(5),
        };
        assert_eq!(whole.n(), 10_000);
        let late = whole.late(STATED);
        assert_eq!(
            (late.p90, late.p99, late.p999),
            (Some(3_000), Some(12_000), Some(99_000))
        );
        assert_eq!((late.n, late.max, late.mean), (10_000, 4_464_000, 3.5));
        let many = Binned {
            bins: &bins,
            beyond: beyond(50),
        };
        assert_eq!(many.late(STATED).p999, None);
        assert_eq!(many.percentile(9_990), None);
        // Ten values must lie above it.
        assert_eq!(whole.percentile(9_999), None);
        assert_eq!(
            Binned {
                bins: &[],
                beyond: None
            }
            .late(STATED),
            Late::default()
        );
    }

    #[test]
    fn few_values_stand_for_many() {
        let mut log = Logged {
            histogram_ns: vec![(1, 3_000_000), (2, 1_000_000)],
            ..Logged::default()
        };
        assert_eq!(log.values(8).unwrap(), [1, 1, 1, 1, 1, 1, 2, 2]);
        assert_eq!(log.values(u64::MAX).map(|all| all.len()), Some(4_000_000));
        log.beyond = Some(Beyond { above_ns: 3, n: 1 });
        assert_eq!(log.values(8), None);
        assert_eq!(Logged::default().values(8), None);
    }
}
