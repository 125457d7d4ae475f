//! Who is asked about pools.

use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_zero_pool::Setting;
use punctual_zero_sim::{Active, Between, Job, Machine, PoolResult, predict, simulate};

use crate::rows::ZeroingPrediction;

/// The model of a computer.
pub trait Model {
    /// Its name.
    fn name(&self) -> &str;

    /// How many CPUs it has.
    fn cpus(&self) -> usize;

    /// The computer as a pool finds it: what is known of it may differ from lock to
    /// lock.
    ///
    /// # Errors
    /// Too little is known of it for this pool.
    fn machine(&self, setting: &Setting) -> Result<Machine, Refusal>;

    /// What comes of a pool that zeroes so many pages, with every figure as it is
    /// given: all intervals are empty.
    ///
    /// # Errors
    /// As of [`simulate`], or too little is known.
    fn central(&self, setting: &Setting, pages: u64) -> Result<ZeroingPrediction, Refusal> {
        let outcome = simulate(&self.machine(setting)?, &Job::new(*setting, pages))?;
        Ok(prediction(|number| {
            let median = number(&outcome);
            Interval {
                median,
                low: median,
                high: median,
            }
        }))
    }

    /// The same with intervals, over what is not known of the computer. It takes
    /// some ten times as long.
    ///
    /// # Errors
    /// As of [`predict`], or too little is known.
    fn within(&self, setting: &Setting, pages: u64) -> Result<ZeroingPrediction, Refusal> {
        let machine = self.machine(setting)?;
        let outcomes = predict(&machine, &Job::new(*setting, pages), Active::All)?;
        Ok(prediction(|number| {
            let Between { low, central, high } = outcomes.of(number);
            Interval {
                median: central,
                low,
                high,
            }
        }))
    }
}

/// A computer of which the same is known for all pools.
impl Model for Machine {
    fn name(&self) -> &str {
        self.name()
    }

    fn cpus(&self) -> usize {
        self.topology().cpus()
    }

    fn machine(&self, _setting: &Setting) -> Result<Machine, Refusal> {
        Ok(self.clone())
    }
}

fn prediction(of: impl Fn(fn(&PoolResult) -> f64) -> Interval) -> ZeroingPrediction {
    ZeroingPrediction {
        wall_gb_per_s: of(PoolResult::wall_gb_per_s),
        gb_per_cpu_s: of(PoolResult::gb_per_cpu_s),
        wait_share: of(|outcome| outcome.split.waiting),
    }
}

#[cfg(test)]
mod tests {
    use punctual_zero_pool::{Batch, LockKind};

    use super::*;

    #[test]
    fn intervals_are_around_what_is_asked_first() {
        let machine = Machine::parse("cascade-lake-96").unwrap();
        let setting = Setting::new(4, LockKind::Tas, Batch::One);
        let first = machine.central(&setting, 10_000).unwrap().gb_per_cpu_s;
        let then = machine.within(&setting, 10_000).unwrap().gb_per_cpu_s;
        assert_eq!((first.low, first.high), (first.median, first.median));
        assert_eq!(first.median, then.median);
        assert!(then.low < then.median && then.median < then.high);
    }
}
