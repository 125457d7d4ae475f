//! What zeroing pages cost.

use punctual_record::Interval;
use serde::{Deserialize, Serialize};

/// A pool of workers, and what it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroedPages {
    /// Which pool, but for its lock.
    #[serde(flatten)]
    pub pool: PoolOf,
    /// What it did.
    pub zero: Zeroing,
    /// Whether its CPU time is only approximate.
    #[serde(default)]
    pub cpu_is_approximate: bool,
    /// What else is known of it where it was simulated.
    #[serde(flatten)]
    pub simulated: Simulated,
}

/// A pool, but for its lock, and what it zeroes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoolOf {
    /// The simulated computer; `None` where it ran on this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// How many workers.
    pub threads: u64,
    /// How many pages each takes at a time.
    pub batch: String,
    /// How they are taken: `range` or `list`.
    pub dequeue: String,
    /// How each zeroes them.
    pub kernel: String,
    /// Where they are before: `hot`, `warm` or `cold`.
    pub memory: String,
    /// The size of all of them.
    pub bytes: u64,
    /// When they come.
    pub arrivals: Arrivals,
    /// The time from one burst to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ns: Option<u64>,
    /// How much arrives all the time, where bursts are of what has arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrive_gb_per_s: Option<f64>,
    /// The lock of the list that zeroed pages are put into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returns: Option<String>,
    /// How often workers lose their CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted_every_ns: Option<u64>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted_for_ns: Option<u64>,
}

/// When pages come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// All are there at once.
    #[default]
    Closed,
    /// Now and then, a burst of them.
    Burst,
}

/// What is known of a pool because it was simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulated {
    /// How many of its pages were; the rest follows from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_pages: Option<u64>,
    /// What the closed form says it zeroes per second of CPU time, where it knows the lock
    /// and the batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain_gb_per_cpu_s: Option<f64>,
    /// The share of time in which there is a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duty: Option<f64>,
    /// How many CPUs are busy with bursts, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_cpus: Option<f64>,
    /// Whether a burst ends before the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_up: Option<bool>,
    /// Which line of the article's story it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// What a pool of workers did under one setting. GB are 1e9 bytes, GiB are
/// 2^30.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroingRound {
    /// Zeroed per second that passed.
    pub wall_gb_per_s: f64,
    /// Zeroed per second of CPU time.
    pub gb_per_cpu_s: f64,
}

/// What a model says of a pool: the central value, and the interval over what
/// is not known of its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    fn percentiles_need_samples_beyond_them() {
        assert_eq!(Spread::of(vec![]), Spread::default());
        let spread = Spread::of((1..=200).rev().collect());
        assert_eq!((spread.p50, spread.p90), (Some(100), Some(180)));
        assert_eq!((spread.p99, spread.max), (None, 200));
    }
}
