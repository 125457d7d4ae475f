//! What zeroing pages cost.

use punctual_record::Interval;
use serde::{Deserialize, Serialize};

use super::ZeroRow;

/// What a pool of workers did under one setting. GB are 1e9 bytes, GiB are
/// 2^30.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Zeroing {
    /// The pages of one pass or burst, of 4096 bytes.
    pub pages: u64,
    /// Zeroed per second that passed: the median over the rounds.
    pub wall_gb_per_s: Interval,
    /// Zeroed per second of CPU time that all workers used together.
    pub gb_per_cpu_s: Interval,
    /// The median of the latter in GiB.
    pub gib_per_cpu_s: f64,
    /// Where the CPU time went.
    pub cpu: CpuSplit,
    /// The share of the workers' time that they were off the CPU: parked, or
    /// waiting for one.
    pub parked_share: f64,
    /// How long workers waited for the lock, of the takes that were timed.
    pub wait_ns: Spread,
    /// How long they held it.
    pub hold_ns: Spread,
    /// How often the lock was acquired in one pass or burst: the median.
    pub acquisitions: f64,
    /// One take in so many was timed.
    pub sampled_every: u32,
    /// The share of the CPU time that reading the clock for that took.
    pub sampling_overhead: f64,
    /// Whether there were more workers than CPUs: then it measures the scheduler.
    pub oversubscribed: bool,
    /// Each round by itself.
    #[serde(default)]
    pub rounds: Vec<ZeroingRound>,
    /// What the model of this computer says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<ZeroingPrediction>,
}

/// Shares of a CPU time; together they are 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSplit {
    /// Zeroing pages.
    pub zeroing: f64,
    /// Holding the lock.
    pub hold: f64,
    /// Waiting for it, spinning or on the way to be parked.
    pub waiting: f64,
    /// The rest.
    pub other: f64,
}

/// Lengths of time in nanoseconds. A percentile q is given only if n (1 - q) is
/// 10 or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many there are.
    pub n: u64,
    /// The median.
    pub p50: Option<u64>,
    /// What 90 % do not exceed.
    pub p90: Option<u64>,
    /// What 99 % do not exceed.
    pub p99: Option<u64>,
    /// The greatest; 0 where there are none.
    pub max: u64,
}

/// One round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroingRound {
    /// Zeroed per second that passed.
    pub wall_gb_per_s: f64,
    /// Zeroed per second of CPU time.
    pub gb_per_cpu_s: f64,
}

/// What a model says of a pool: the central value, and the interval over what
/// is not known of its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroingPrediction {
    /// Zeroed per second that passes.
    pub wall_gb_per_s: Interval,
    /// Zeroed per second of CPU time.
    pub gb_per_cpu_s: Interval,
    /// The share of the CPU time that is spent waiting.
    pub wait_share: Interval,
}

impl ZeroingPrediction {
    /// How many times the CPU time that the same pool would take if nobody
    /// waited; `None` if all of it is waiting.
    pub fn over_no_waiting(&self) -> Option<f64> {
        let working = 1.0 - self.wait_share.median;
        (working > 0.0).then(|| 1.0 / working)
    }
}

impl Zeroing {
    /// That of a measurement; `None` if it has none.
    pub fn of(measurement: &ZeroRow) -> Option<Self> {
        measurement.zero.clone()
    }

    /// Puts it into a measurement.
    pub fn put(&self, measurement: &mut ZeroRow) {
        measurement.zero = Some(self.clone());
    }
}

impl Spread {
    /// Of samples, in any order.
    pub fn of(mut samples: Vec<u64>) -> Self {
        samples.sort_unstable();
        let n = samples.len();
        // The nearest rank, where enough lie beyond it.
        let percentile = |q: f64| {
            let rank = (q * n as f64).ceil() as usize;
            (n as f64 * (1.0 - q) >= 10.0).then(|| samples[rank.clamp(1, n) - 1])
        };
        Self {
            n: n as u64,
            p50: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            max: samples.last().copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_keeps_it() {
        let zeroing = Zeroing {
            pages: 3,
            gib_per_cpu_s: 0.1,
            ..Zeroing::default()
        };
        let mut measurement = ZeroRow::default();
        assert_eq!(Zeroing::of(&measurement), None);
        zeroing.put(&mut measurement);
        let text = serde_json::to_string(&measurement).unwrap();
        let read: ZeroRow = serde_json::from_str(&text).unwrap();
        assert_eq!(Zeroing::of(&read), Some(zeroing));
    }

    #[test]
    fn percentiles_need_samples_beyond_them() {
        assert_eq!(Spread::of(vec![]), Spread::default());
        let spread = Spread::of((1..=200).rev().collect());
        assert_eq!((spread.p50, spread.p90), (Some(100), Some(180)));
        assert_eq!((spread.p99, spread.max), (None, 200));
    }
}
