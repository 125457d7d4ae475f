//! Predictions beside a run, calibrated in the same rounds.

use std::collections::BTreeMap;

use punctual_program::Refusal;
use punctual_record::Warning;
use punctual_zero_pool::Dequeue;

use super::Calibrated;
use crate::advice::Model;
use crate::calibration::{Calibrator, Wanted};
use crate::rows::{ZeroCalibration, ZeroRow, ZeroingPrediction};
use crate::run::{Area, Cell, PoolPlan, Progress};

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
