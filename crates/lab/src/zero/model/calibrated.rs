//! A computer that was calibrated, and what its model says of pools.

use punctual_core::Refusal;
use punctual_pool::Setting;
use punctual_record::{Interval, ZeroCalibration, ZeroingPrediction};
use punctual_sim::zeroing::{
    Active, Between, Job, Machine, Outcome, Prediction, predict, simulate,
};

use super::machine::machine;
use crate::zero::advice::Model;
use crate::zero::run::Memory;

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
        let outcomes: Vec<Outcome> = outcomes.collect::<Result<_, _>>()?;
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

fn prediction(of: impl Fn(fn(&Outcome) -> f64) -> Interval) -> ZeroingPrediction {
    ZeroingPrediction {
        wall_gb_per_s: of(Outcome::wall_gb_per_s),
        gb_per_cpu_s: of(Outcome::gb_per_cpu_s),
        wait_share: of(|outcome| outcome.split.waiting),
    }
}
