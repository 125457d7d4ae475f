//! A computer that was calibrated, and what its model says of pools.

use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_zero_pool::Setting;
use punctual_zero_sim::{Active, Between, Job, Machine, PoolResult, Prediction, predict, simulate};

use super::machine::machine;
use crate::advice::Model;
use crate::rows::{ZeroCalibration, ZeroingPrediction};
use crate::run::Memory;

/// The model of this computer for pools that zero one of the memories that it was
/// calibrated for.
#[derive(Clone, Debug)]
pub struct Calibrated {
    calibration: ZeroCalibration,
    memory: Memory,
    timed_every: u32,
}

/// A pass over few pages is over before chance evens out: so many pages at least
/// are simulated, with other chances each time.
const PAGES: u64 = 2_000;

impl Calibrated {
    /// Pools that zero `memory`, of which no take is timed.
    pub fn new(calibration: ZeroCalibration, memory: Memory) -> Self {
        Self {
            calibration,
            memory,
            timed_every: 0,
        }
    }

    /// The same where one take in so many is timed, which costs time too.
    #[must_use]
    pub fn timed(self, every: u32) -> Self {
        Self {
            timed_every: every,
            ..self
        }
    }

    /// What the parts cost.
    pub fn calibration(&self) -> &ZeroCalibration {
        &self.calibration
    }
}

impl Model for Calibrated {
    fn name(&self) -> &str {
        "this computer"
    }

    fn cpus(&self) -> usize {
        self.calibration.cpus
    }

    fn machine(&self, setting: &Setting) -> Result<Machine, Refusal> {
        machine(&self.calibration, setting, self.memory, self.timed_every)
    }

    fn central(&self, setting: &Setting, pages: u64) -> Result<ZeroingPrediction, Refusal> {
        let machine = self.machine(setting)?;
        let outcomes = chances(setting, pages).map(|job| simulate(&machine, &job));
        let outcomes: Vec<PoolResult> = outcomes.collect::<Result<_, _>>()?;
        Ok(prediction(|number| {
            let sum: f64 = outcomes.iter().map(number).sum();
            let median = sum / outcomes.len() as f64;
            Interval {
                median,
                low: median,
                high: median,
            }
        }))
    }

    fn within(&self, setting: &Setting, pages: u64) -> Result<ZeroingPrediction, Refusal> {
        let machine = self.machine(setting)?;
        let outcomes = chances(setting, pages).map(|job| predict(&machine, &job, Active::All));
        let outcomes: Vec<Prediction> = outcomes.collect::<Result<_, _>>()?;
        Ok(prediction(|number| {
            let between = outcomes.iter().map(|outcome| outcome.of(number));
            let between: Vec<Between> = between.collect();
            let mean = |end: fn(&Between) -> f64| {
                between.iter().map(end).sum::<f64>() / between.len() as f64
            };
            Interval {
                median: mean(|b| b.central),
                low: mean(|b| b.low),
                high: mean(|b| b.high),
            }
        }))
    }
}

/// A pool, with several chances if it is a small one.
fn chances(setting: &Setting, pages: u64) -> impl Iterator<Item = Job> {
    let job = Job::new(*setting, pages);
    let seeds = 0..PAGES.div_ceil(pages.max(1));
    seeds.map(move |seed| Job { seed, ..job })
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
    use super::super::made_up;
    use super::*;
    use punctual_zero_pool::{Batch, LockKind};

    /// Nanoseconds of CPU time that a page takes.
    fn page_ns(model: &Calibrated, setting: &Setting) -> f64 {
        let predicted = model.central(setting, 4_000).unwrap();
        4_096.0 / predicted.gb_per_cpu_s.median
    }

    #[test]
    fn one_worker_takes_what_was_measured_of_one() {
        let model = Calibrated::new(made_up::calibration(), Memory::Hot);
        let tas = |batch| Setting::new(1, LockKind::Tas, batch);
        for (batch, expected) in [
            // A page of 100 ns, and a take of 30 right after it.
            (Batch::One, 130.0),
            (Batch::Fixed(10), 103.0),
        ] {
            let got = page_ns(&model, &tas(batch));
            assert!((got / expected - 1.0).abs() < 0.005, "{batch}: {got}");
        }
        // One take in ten costs 40 ns more where it is timed.
        let timed = page_ns(&model.clone().timed(10), &tas(Batch::One));
        assert!((timed / 134.0 - 1.0).abs() < 0.005, "{timed}");
        // What was not measured right after a page is taken as it is by itself.
        let counter = page_ns(&model, &Setting::new(1, LockKind::Counter, Batch::One));
        assert!((counter / 112.0 - 1.0).abs() < 0.005, "{counter}");
    }

    #[test]
    fn two_workers_wait_for_each_other() {
        let model = Calibrated::new(made_up::calibration(), Memory::Hot);
        let setting = Setting::new(2, LockKind::Tas, Batch::One);
        let predicted = model.within(&setting, 128).unwrap();
        assert!(predicted.wait_share.median > 0.05, "{predicted:?}");
        let central = model.central(&setting, 128).unwrap();
        let medians = [predicted, central].map(|p| p.gb_per_cpu_s.median);
        assert!((medians[0] / medians[1] - 1.0).abs() < 1e-9, "{medians:?}");
        assert!(predicted.gb_per_cpu_s.low <= medians[0]);
        assert!(model.central(&setting, 0).is_ok());
    }
}
