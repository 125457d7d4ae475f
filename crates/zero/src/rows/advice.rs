//! Which pool to zero pages with.

use punctual_record::Interval;
use serde::{Deserialize, Serialize};

use super::ZeroRow;
use super::zeroing::ZeroingPrediction;

/// What `punctual zero advise` says of a computer: a pool for each goal, out of
/// those that its model was asked about. What they really do, where they were
/// measured, is in the measurements of the Run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroAdvice {
    /// The computer.
    pub on: String,
    /// Whether that is another computer than the one the advice was made on, so
    /// that nothing of it was measured.
    pub model_only: bool,
    /// The pages to be zeroed, of 4096 bytes.
    pub pages: u64,
    /// How many pools the model was asked about.
    pub considered: u64,
    /// What a thread zeroes per second that does nothing else: GB per CPU-second.
    pub ideal_gb_per_cpu_s: f64,
    /// The advice, a goal each.
    pub picks: Vec<ZeroPick>,
    /// To compare with: one page at a time under a spin lock, with as many threads
    /// as there are CPUs.
    pub careless: ZeroForecast,
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
    /// What the model says of it.
    pub predicted: ZeroingPrediction,
    /// The most pages that a worker takes at a time.
    pub longest_take_pages: u64,
    /// How long one thread zeroes these.
    pub longest_take_ns: f64,
    /// How long a lock is with one holder if all of these threads want it, and the
    /// batches that follow: for a TAS lock, and the lock of the pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<ZeroHold>,
    /// Whether it is the best of all that were considered, where all were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<ZeroChecked>,
}

/// What the model says of a pool that nobody is advised to have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroForecast {
    /// Which pool.
    #[serde(flatten)]
    pub pool: ZeroPool,
    /// What the model says of it.
    pub predicted: ZeroingPrediction,
}

/// A pool, but for what it runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroPool {
    /// How many workers.
    pub threads: u64,
    /// How many pages each takes at a time.
    pub batch: String,
    /// What keeps them apart.
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
    /// The least batch with which waiting for it stays below 5 % of the time.
    pub pages_for_5_percent: f64,
    /// The same for 10 %.
    pub pages_for_10_percent: f64,
}

/// Limits that do not depend on the lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroBounds {
    /// What zeroing a page takes one thread.
    pub zero_ns: f64,
    /// What one thread zeroes per second.
    pub core_gb_per_s: f64,
    /// What all together can; `None` where that is no less than all CPUs zero, as
    /// where each has its pages in a cache of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_gb_per_s: Option<f64>,
    /// How many threads the memory keeps up with, where that is fewer than there
    /// are CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<f64>,
    /// How large a batch may be, so that nobody waits too long for who takes it.
    pub most_pages: u64,
}

/// How an advised pool did among all that were considered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ZeroChecked {
    /// How many pools were measured.
    pub measured: u64,
    /// What counts for the goal: GB per CPU-second, GB per second, or the
    /// geometric mean of both.
    pub this: Interval,
    /// The pool with the greatest median of it.
    pub best: ZeroPool,
    /// That, with its interval.
    pub best_measured: Interval,
    /// Whether the two intervals overlap. The greatest of many medians is greater
    /// than the pool's own by chance as well, so the other need not reach it.
    pub is_best: bool,
}

impl ZeroAdvice {
    /// How many times the CPU time of an ideal thread a pool takes, by the model;
    /// `None` if it zeroes nothing.
    pub fn over_ideal(&self, predicted: &ZeroingPrediction) -> Option<f64> {
        let gb_per_cpu_s = predicted.gb_per_cpu_s.median;
        (gb_per_cpu_s > 0.0).then(|| self.ideal_gb_per_cpu_s / gb_per_cpu_s)
    }

    /// The share of the CPU time of a pool with which an ideal thread would not
    /// have zeroed as much.
    pub fn wasted(&self, predicted: &ZeroingPrediction) -> Option<f64> {
        self.over_ideal(predicted)
            .map(|times| (1.0 - 1.0 / times).max(0.0))
    }
}

impl ZeroPool {
    /// Whether a measurement is of this pool.
    pub fn is_of(&self, measurement: &ZeroRow) -> bool {
        let of = measurement.zeroed().map(|zeroed| &zeroed.pool);
        measurement.subject == self.lock
            && of.is_some_and(|of| of.threads == self.threads && of.batch == self.batch)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ZeroFindings, ZeroedPages};
    use super::*;
    use punctual_record::Run;

    fn exactly(median: f64) -> Interval {
        Interval {
            median,
            low: median,
            high: median,
        }
    }

    #[test]
    fn ratios_name_their_baselines() {
        let predicted = ZeroingPrediction {
            gb_per_cpu_s: exactly(2.5),
            wait_share: exactly(0.6),
            ..ZeroingPrediction::default()
        };
        let advice = ZeroAdvice {
            ideal_gb_per_cpu_s: 10.0,
            ..ZeroAdvice::default()
        };
        assert_eq!(advice.over_ideal(&predicted), Some(4.0));
        assert_eq!(advice.wasted(&predicted), Some(0.75));
        assert_eq!(predicted.over_no_waiting(), Some(2.5));
        assert_eq!(advice.over_ideal(&ZeroingPrediction::default()), None);
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
        let run: Run<ZeroRow> = Run {
            schema: punctual_record::SCHEMA.to_owned(),
            beside: ZeroFindings {
                zero_advice: Some(advice),
                ..ZeroFindings::default()
            },
            ..Run::default()
        };
        assert_eq!(Run::from_json(&run.to_json()), Ok(run));
        let mut zeroed = ZeroedPages::default();
        (zeroed.pool.threads, zeroed.pool.batch) = (2, "64".to_owned());
        let mut measurement = ZeroRow::pool("mcs", zeroed);
        assert!(pool.is_of(&measurement));
        measurement.subject = "tas".to_owned();
        assert!(!pool.is_of(&measurement));
    }
}
