//! The results of pools of workers, and the advised ones among them.

use punctual_record::{Interval, percentile};
use punctual_zero_pool::Setting;
use punctual_zero_sim::CpuSplit;
use serde::{Deserialize, Serialize};

use crate::rows::ZeroRow;

/// A pool of workers, and what it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroedPages {
    /// A pool, without its lock.
    #[serde(flatten)]
    pub pool: PoolOf,
    /// The result.
    pub zero: Zeroing,
    /// Whether its CPU time is only approximate.
    #[serde(default)]
    pub cpu_is_approximate: bool,
    /// Further facts of a simulated pool.
    #[serde(flatten)]
    pub simulated: Simulated,
}

impl ZeroedPages {
    /// The result of such a pool without further facts.
    pub fn of(pool: PoolOf, zero: Zeroing) -> Self {
        Self {
            pool,
            zero,
            ..Self::default()
        }
    }
}

/// A pool without its lock, and the memory it zeroes.
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

impl PoolOf {
    /// The pool of a setting.
    pub(crate) fn of(setting: &Setting) -> Self {
        Self {
            threads: setting.workers as u64,
            batch: setting.batch.to_string(),
            dequeue: setting.dequeue.to_string(),
            returns: setting.returns.map(|lock| lock.to_string()),
            ..Self::default()
        }
    }
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

/// The facts of a pool that are known because it was simulated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulated {
    /// How many of its pages were; the rest follows from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_pages: Option<u64>,
    /// The locks whose simulation no published measurement confirms within a factor of 1.5 on this
    /// kind of computer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_validated: Vec<String>,
    /// GB zeroed per second of CPU time in each of its two steady states. The start decides which:
    /// all workers at once, or one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states_gb_per_cpu_s: Option<[f64; 2]>,
    /// The rate per second of CPU time by the closed form, where it covers the lock and the batch.
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

/// The result of a pool of workers under one setting. GB are 1e9 bytes, GiB are 2^30.
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
    /// The 90th percentile.
    pub p90: Option<u64>,
    /// The 99th percentile.
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

/// The rates of a pool, predicted or measured: the central value, and the interval over unknown
/// parameters of the model or over rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroRates {
    /// Zeroed per second that passes.
    pub wall_gb_per_s: Interval,
    /// Zeroed per second of CPU time.
    pub gb_per_cpu_s: Interval,
    /// The share of the CPU time that is spent waiting.
    pub wait_share: Interval,
    /// Whether no published measurement confirms the simulation of its lock within a factor of
    /// 1.5 on this kind of computer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_validated: bool,
    /// As [`Simulated::states_gb_per_cpu_s`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states_gb_per_cpu_s: Option<[f64; 2]>,
}

impl ZeroRates {
    /// The CPU time relative to the same pool without waiting; `None` if all of it is waiting.
    pub fn over_no_waiting(&self) -> Option<f64> {
        without_waiting(self.wait_share.median)
    }
}

/// How many times the CPU time that the same pool would take if it did not spend this share
/// of it waiting; `None` if that is all of it.
pub(crate) fn without_waiting(share: f64) -> Option<f64> {
    let working = 1.0 - share;
    (working > 0.0).then(|| 1.0 / working)
}

impl Spread {
    /// Of samples, in any order.
    pub fn of(mut samples: Vec<u64>) -> Self {
        samples.sort_unstable();
        Self {
            n: samples.len() as u64,
            p50: percentile(&samples, 500),
            p90: percentile(&samples, 900),
            p99: percentile(&samples, 990),
            max: samples.last().copied().unwrap_or(0),
        }
    }
}

/// The advice of `punctual zero advise` for a computer, with a pool for each goal. It is the best
/// of those measured there, or of those predicted by the model of another computer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroAdvice {
    /// The computer.
    pub on: String,
    /// Whether the rates are predictions of the computer's model, and nothing was measured.
    pub model_only: bool,
    /// The pages to be zeroed, of 4096 bytes.
    pub pages: u64,
    /// How many pools were measured or predicted.
    pub considered: u64,
    /// The rate of a thread that only zeroes: GB per CPU-second.
    pub ideal_gb_per_cpu_s: f64,
    /// The advice, a goal each.
    pub picks: Vec<ZeroPick>,
    /// To compare with: one page at a time under a spin lock, with as many threads
    /// as there are CPUs.
    pub naive: RatedPool,
    /// How many threads and how large a batch make sense by rule of thumb.
    pub bounds: ZeroBounds,
}

/// A pool for a goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroPick {
    /// `cpu`, `wall` or `balanced`.
    pub goal: String,
    /// Which pool.
    #[serde(flatten)]
    pub pool: ZeroPool,
    /// Its rates, predicted or measured.
    pub rates: ZeroRates,
    /// The most pages that a worker takes at a time.
    pub longest_take_pages: u64,
    /// How long one thread zeroes these.
    pub longest_take_ns: f64,
    /// How long a TAS lock and the pool's lock have one holder if all of these threads want them,
    /// and the resulting batches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<ZeroHold>,
}

/// A pool with its rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatedPool {
    /// Which pool.
    #[serde(flatten)]
    pub pool: ZeroPool,
    /// Its rates, predicted or measured.
    pub rates: ZeroRates,
}

/// A pool, without the computer that it runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroPool {
    /// How many workers.
    pub threads: u64,
    /// How many pages each takes at a time.
    pub batch: String,
    /// The lock between the workers.
    pub lock: String,
}

/// How long a lock is with one holder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroHold {
    /// The lock.
    pub lock: String,
    /// From one hand-over to the next, while all threads want it.
    pub hold_ns: f64,
    /// Whether no published measurement confirms the simulation of the lock within a factor of
    /// 1.5 on this kind of computer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_validated: bool,
    /// The least batch with which waiting for it stays below 5 % of the time.
    pub pages_for_5_percent: f64,
    /// The same for 10 %.
    pub pages_for_10_percent: f64,
}

/// Limits that do not depend on the lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroBounds {
    /// The time for one thread to zero a page.
    pub zero_ns: f64,
    /// The rate of one thread.
    pub core_gb_per_s: f64,
    /// The greatest rate of all CPUs together; `None` if that is their sum, as where each has its
    /// pages in a cache of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_gb_per_s: Option<f64>,
    /// How many threads the memory keeps up with, where that is fewer than there
    /// are CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<f64>,
    /// How large a batch may be, so that no other worker waits too long for it.
    pub most_pages: u64,
}

impl ZeroAdvice {
    /// The advised pools by their goals, and `naive`, each with its rates.
    pub(crate) fn rated(&self) -> impl Iterator<Item = (&str, &ZeroPool, &ZeroRates)> {
        let picks = self.picks.iter();
        let picks = picks.map(|pick| (pick.goal.as_str(), &pick.pool, &pick.rates));
        let naive = &self.naive;
        picks.chain([("naive", &naive.pool, &naive.rates)])
    }

    /// How many times the CPU time of an ideal thread a pool takes;
    /// `None` if it zeroes nothing.
    pub fn over_ideal(&self, rates: &ZeroRates) -> Option<f64> {
        let gb_per_cpu_s = rates.gb_per_cpu_s.median;
        (gb_per_cpu_s > 0.0).then(|| self.ideal_gb_per_cpu_s / gb_per_cpu_s)
    }

    /// The share of the CPU time of a pool with which an ideal thread would not
    /// have zeroed as much.
    pub fn wasted(&self, rates: &ZeroRates) -> Option<f64> {
        self.over_ideal(rates)
            .map(|times| (1.0 - 1.0 / times).max(0.0))
    }
}

impl ZeroPool {
    /// That of a setting.
    pub fn of(setting: &Setting) -> Self {
        Self {
            threads: setting.workers as u64,
            batch: setting.batch.to_string(),
            lock: setting.lock.to_string(),
        }
    }

    /// Whether a measurement is of this pool.
    pub fn is_of(&self, measurement: &ZeroRow) -> bool {
        let of = measurement.zeroed().map(|zeroed| &zeroed.pool);
        measurement.subject == self.lock
            && of.is_some_and(|of| of.threads == self.threads && of.batch == self.batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::Run;

    use crate::rows::ZeroedPages;

    #[test]
    fn percentiles_need_samples_beyond_them() {
        assert_eq!(Spread::of(vec![]), Spread::default());
        let spread = Spread::of((1..=200).rev().collect());
        assert_eq!((spread.p50, spread.p90), (Some(100), Some(180)));
        assert_eq!((spread.p99, spread.max), (None, 200));
        let hundred = Spread::of((1..=100).collect());
        assert_eq!((hundred.p90, hundred.p99), (Some(90), None));
    }

    #[test]
    fn ratios_name_their_baselines() {
        let predicted = ZeroRates {
            gb_per_cpu_s: Interval::exactly(2.5),
            wait_share: Interval::exactly(0.6),
            ..ZeroRates::default()
        };
        let advice = ZeroAdvice {
            ideal_gb_per_cpu_s: 10.0,
            ..ZeroAdvice::default()
        };
        assert_eq!(advice.over_ideal(&predicted), Some(4.0));
        assert_eq!(advice.wasted(&predicted), Some(0.75));
        assert_eq!(predicted.over_no_waiting(), Some(2.5));
        assert_eq!(advice.over_ideal(&ZeroRates::default()), None);
    }

    #[test]
    fn a_run_keeps_it_and_its_measurements_are_found() {
        let pool = ZeroPool {
            threads: 2,
            batch: "64".to_owned(),
            lock: "mcs".to_owned(),
        };
        let advice = ZeroAdvice {
            picks: vec![ZeroPick {
                pool: pool.clone(),
                ..ZeroPick::default()
            }],
            ..ZeroAdvice::default()
        };
        let mut run: Run<ZeroRow> = Run::default();
        run.beside.zero_advice = Some(advice);
        assert_eq!(Run::from_json(&run.to_json()), Ok(run));
        let mut zeroed = ZeroedPages::default();
        (zeroed.pool.threads, zeroed.pool.batch) = (2, "64".to_owned());
        let mut measurement = ZeroRow::pool("mcs", zeroed);
        assert!(pool.is_of(&measurement));
        measurement.subject = "tas".to_owned();
        assert!(!pool.is_of(&measurement));
    }
}
