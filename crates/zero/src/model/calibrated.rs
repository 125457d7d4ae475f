//! A computer that was calibrated, and what its model says of pools.

use std::collections::BTreeMap;

use punctual_program::Refusal;
use punctual_record::{Interval, Warning};
use punctual_zero_pool::{Dequeue, Setting};
use punctual_zero_sim::{Active, Between, Job, Machine, PoolResult, Prediction, predict, simulate};

use super::machine::machine;
use crate::advice::Model;
use crate::calibration::{Calibrator, Wanted};
use crate::rows::{ZeroCalibration, ZeroRow, ZeroingPrediction};
use crate::run::{Area, Cell, Memory, PoolPlan, Progress};

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

/// What is noted beside a run.
#[derive(Debug)]
pub struct Forecasts<'p> {
    plan: &'p PoolPlan,
    calibrator: Calibrator<'p>,
    rounds: u32,
    failed: Option<Refusal>,
}

/// What came of it.
#[derive(Debug)]
pub struct Forecast {
    /// What the parts cost.
    pub calibration: ZeroCalibration,
    /// For each cell that can be predicted, by its number.
    pub predictions: BTreeMap<usize, ZeroingPrediction>,
    /// What could not be.
    pub warnings: Vec<Warning>,
}

impl<'p> Forecasts<'p> {
    /// Predictions for what `plan` is about to run.
    ///
    /// # Errors
    /// Its pages are zeroed in several ways: one can be calibrated. Or there is
    /// nothing that can be predicted.
    ///
    /// # Panics
    /// Before the plan's warm-up.
    pub fn of(plan: &'p PoolPlan) -> Result<Self, Refusal> {
        let (memory, cpu_clock) = plan.ground();
        let cells: Vec<&Cell> = cells(plan).map(|(_, cell)| cell).collect();
        let Some(first) = cells.first() else {
            return Err(Refusal::new(
                "nothing of this can be predicted: only closed backlogs, taken as ranges, by no more threads than CPUs",
            ));
        };
        if cells.iter().any(|cell| cell.kernel != first.kernel) {
            return Err(Refusal::new(
                "predictions are for one way of zeroing at a time; give one with --kernel",
            ));
        }
        let mut areas: Vec<Area> = Vec::new();
        for cell in &cells {
            if !areas.contains(&cell.area) {
                areas.push(cell.area);
            }
        }
        let wanted = Wanted {
            areas,
            kernel: first.kernel,
            settings: cells.iter().map(|cell| cell.setting).collect(),
        };
        Ok(Self {
            plan,
            calibrator: Calibrator::new(wanted, memory, cpu_clock)?,
            rounds: 0,
            failed: None,
        })
    }

    /// How long the calibration takes, about.
    pub fn length(&self) -> punctual_core::Nanos {
        self.calibrator
            .round_length()
            .times(self.plan.rounds().into())
    }

    /// To be called before each batch: calibrates once in each round.
    pub fn before(&mut self, progress: &Progress) {
        if self.failed.is_none() && self.rounds <= progress.round {
            self.rounds = progress.round + 1;
            self.failed = self.calibrator.round().err();
        }
    }

    /// How many predictions there are.
    pub fn predictions(&self) -> usize {
        cells(self.plan).count()
    }

    /// What all of that predicts. `next` is told of each prediction before it is
    /// made, and says whether to go on.
    pub fn finish(self, next: &mut dyn FnMut(&Cell) -> bool) -> Forecast {
        let calibration = self.calibrator.calibration();
        let mut predictions = BTreeMap::new();
        let mut failed = self.failed;
        if calibration.rounds > 0 {
            for (number, cell) in cells(self.plan) {
                if !next(cell) {
                    break;
                }
                let model = Calibrated::new(calibration.clone(), cell.area.memory);
                let model = model.timed(self.plan.timed_every(cell));
                match model.within(&cell.setting, cell.area.pages) {
                    Ok(prediction) => {
                        predictions.insert(number, prediction);
                    }
                    Err(why) => failed = failed.or(Some(Refusal::new(format!("{cell}: {why}")))),
                }
            }
        }
        let warning = failed.map(|why| Warning {
            what: format!("Not everything could be predicted: {why}."),
            remedy: "Run it again while nothing else runs: the parts of a pool are measured in microseconds."
                .to_owned(),
        });
        Forecast {
            calibration,
            predictions,
            warnings: warning.into_iter().collect(),
        }
    }
}

impl Forecast {
    /// Puts the predictions into the measurements of the same settings.
    pub fn put(&self, plan: &PoolPlan, measurements: &mut [ZeroRow]) {
        for (number, prediction) in &self.predictions {
            let cell = &plan.cells()[*number];
            let (pool, lock) = (cell.pool(), cell.setting.lock.name());
            let same = measurements.iter_mut().filter(|m| m.subject == lock);
            let mut same = same.filter_map(ZeroRow::zeroed_mut);
            if let Some(zeroed) = same.find(|zeroed| zeroed.pool == pool) {
                zeroed.zero.predicted = Some(*prediction);
            }
        }
    }
}

/// Those of which the model knows everything that makes such a pool, with their
/// numbers.
fn cells(plan: &PoolPlan) -> impl Iterator<Item = (usize, &Cell)> {
    let numbered = plan.cells().iter().enumerate();
    numbered.filter(|(_, cell)| {
        cell.bursts.is_none()
            && cell.setting.dequeue == Dequeue::Range
            && cell.setting.returns.is_none()
            && !plan.is_oversubscribed(cell)
    })
}

#[cfg(test)]
mod tests {
    use punctual_zero_pool::{Batch, LockKind};

    use super::super::made_up;
    use super::*;

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
