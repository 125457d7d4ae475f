//! Predictions beside a run: calibrated in the same rounds, and with a glance at
//! how things stand before each batch.

use std::collections::BTreeMap;

use punctual_core::Refusal;
use punctual_pool::Dequeue;
use punctual_record::{Interval, Measurement, ZeroCalibration, Zeroing, ZeroingPrediction};
use punctual_sim::zeroing::{Job, Outcome, simulate};

use super::gauge::Gauge;
use super::machine::machine;
use super::{PAGES, predict};
use crate::zero::calibration::{Calibrator, Glance, Wanted};
use crate::zero::run::{Area, Cell, Memory, Plan, Progress};

/// What is noted beside a run.
#[derive(Debug)]
pub struct Forecasts<'p> {
    plan: &'p Plan,
    calibrator: Calibrator<'p>,
    rounds: u32,
    /// By the number of the cell, for each round.
    gauges: BTreeMap<usize, Vec<Gauge>>,
    failed: Option<Refusal>,
}

/// What came of it.
#[derive(Debug)]
pub struct Forecast {
    /// What the parts cost.
    pub calibration: ZeroCalibration,
    /// For each cell that can be predicted, by its number.
    pub predictions: BTreeMap<usize, ZeroingPrediction>,
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
    pub fn of(plan: &'p Plan) -> Result<Self, Refusal> {
        let cells: Vec<&Cell> = plan.cells().iter().filter(|cell| can_be(cell)).collect();
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
        let (memory, cpu_clock) = plan.ground();
        Ok(Self {
            plan,
            calibrator: Calibrator::new(wanted, memory, cpu_clock)?,
            rounds: 0,
            gauges: BTreeMap::new(),
            failed: None,
        })
    }

    /// To be called before each batch: measures what has to be measured then.
    pub fn before(&mut self, progress: &Progress) {
        if self.failed.is_none() {
            self.failed = self.measure(progress).err();
        }
    }

    fn measure(&mut self, progress: &Progress) -> Result<(), Refusal> {
        while self.rounds <= progress.round {
            self.calibrator.round()?;
            self.rounds += 1;
        }
        let cell = &self.plan.cells()[progress.cell];
        if can_be(cell) && cell.setting.workers <= self.calibrator.cpus() {
            let glance = self.calibrator.glance(cell.area, cell.setting.workers)?;
            let gauge = Gauge {
                glance,
                memory: cell.area.memory.name(),
            };
            self.gauges.entry(progress.cell).or_default().push(gauge);
        }
        Ok(())
    }

    /// What all of that predicts.
    ///
    /// # Errors
    /// Something could not be measured or simulated.
    pub fn finish(self) -> Result<Forecast, Refusal> {
        if let Some(refusal) = self.failed {
            return Err(refusal);
        }
        let calibration = self.calibrator.calibration();
        let usual = usual(self.gauges.values().flatten());
        let mut predictions = BTreeMap::new();
        for (number, gauges) in &self.gauges {
            let cell = &self.plan.cells()[*number];
            let usual = usual.get(&(cell.area.memory.name(), gauges[0].glance.workers));
            let usual = usual.filter(|_| cell.area.memory != Memory::Hot);
            let applied = |gauge: &Gauge| gauge.applied(&calibration, usual);
            predictions.insert(*number, of_cell(cell, gauges.iter().map(applied))?);
        }
        Ok(Forecast {
            calibration,
            predictions,
        })
    }
}

impl Forecast {
    /// Puts the predictions into the measurements of the same settings.
    pub fn put(&self, plan: &Plan, measurements: &mut [Measurement]) {
        for (number, prediction) in &self.predictions {
            let cell = &plan.cells()[*number];
            let (params, lock) = (cell.params(), cell.setting.lock.name());
            let is_it = |m: &&mut Measurement| m.params == params && m.subject == lock;
            let Some(measurement) = measurements.iter_mut().find(is_it) else {
                continue;
            };
            if let Some(mut zeroing) = Zeroing::of(measurement) {
                zeroing.predicted = Some(*prediction);
                zeroing.put(measurement);
            }
        }
    }
}

/// Whether the model knows everything that makes such a pool.
fn can_be(cell: &Cell) -> bool {
    cell.bursts.is_none()
        && cell.setting.dequeue == Dequeue::Range
        && cell.setting.returns.is_none()
}

/// The median over the rounds, each with its own calibration; as far up and down as
/// with the first of them.
fn of_cell(
    cell: &Cell,
    rounds: impl Iterator<Item = ZeroCalibration>,
) -> Result<ZeroingPrediction, Refusal> {
    let memory = cell.area.memory.name();
    let (mut wall, mut cpu, mut wait) = (Vec::new(), Vec::new(), Vec::new());
    let mut middle = None;
    for calibration in rounds {
        let machine = machine(&calibration, &cell.setting, memory)?;
        let seeds = 0..PAGES.div_ceil(cell.area.pages.max(1));
        let job = |seed| Job {
            seed,
            ..Job::new(cell.setting, cell.area.pages)
        };
        let all: Vec<Outcome> = seeds
            .map(|seed| simulate(&machine, &job(seed)))
            .collect::<Result<_, _>>()?;
        let mean =
            |of: &dyn Fn(&Outcome) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        wall.push(mean(&Outcome::wall_gb_per_s));
        cpu.push(mean(&Outcome::gb_per_cpu_s));
        wait.push(mean(&|outcome| outcome.split.waiting));
        middle = Some(calibration);
    }
    let Some(calibration) = middle else {
        return Err(Refusal::new("no round was gauged"));
    };
    let around = predict(&calibration, &cell.setting, memory, cell.area.pages)?;
    Ok(ZeroingPrediction {
        wall_gb_per_s: around_median(&wall, around.wall_gb_per_s),
        gb_per_cpu_s: around_median(&cpu, around.gb_per_cpu_s),
        wait_share: around_median(&wait, around.wait_share),
    })
}

/// The median of the rounds, with an interval in the same proportion.
fn around_median(rounds: &[f64], around: Interval) -> Interval {
    let median = Interval::of(rounds).map_or(around.median, |interval| interval.median);
    let scale = if around.median > 0.0 {
        median / around.median
    } else {
        1.0
    };
    Interval {
        median,
        low: around.low * scale,
        high: around.high * scale,
    }
}

/// What glances saw on average, by memory and number of workers.
fn usual<'g>(gauges: impl Iterator<Item = &'g Gauge>) -> BTreeMap<(&'static str, usize), Glance> {
    let mut all: BTreeMap<(&'static str, usize), Vec<&Glance>> = BTreeMap::new();
    for gauge in gauges {
        let key = (gauge.memory, gauge.glance.workers);
        all.entry(key).or_default().push(&gauge.glance);
    }
    let medians = all.into_iter();
    medians
        .map(|(key, glances)| (key, Glance::median(&glances)))
        .collect()
}
