//! The model of this computer: what was measured of its parts, put into the
//! simulated computer, on which the very same pools run.
//!
//! | file | what it is about |
//! |---|---|
//! | `machine` | which measurement is which figure of the simulated computer |
//! | this one | what it says of pools, also beside a run, and how far that is from what was measured |
//!
//! Nothing in it is fitted to a pool. Of what was not measured, it is taken for
//! granted that stores are posted, as today's CPUs do it; the rest is as for every
//! simulated computer, and guesses among that widen the intervals of predictions.
//!
//! Predictions are of closed backlogs that are taken as ranges, by no more workers
//! than CPUs. They are held to 15 % in the geometric mean and 25 % anywhere, with one
//! and two workers. Two workers who take single pages in a cache, under whatever lock,
//! are at the edge of that; `docs/zeroing.md` says by how much.

mod machine;

use punctual_program::Refusal;
use punctual_record::Warning;
use punctual_zero_pool::{Dequeue, Setting};
use punctual_zero_sim::{Job, Machine};

use crate::advice::Model;
use crate::calibration::{Calibrator, Wanted};
use crate::model::machine::machine;
use crate::rows::{ZeroCalibration, ZeroRow, ZeroedPages};
use crate::run::{Cell, Memory, PoolPlan};
use crate::{Progress, distinct};

/// The model of this computer for pools that zero one of the memories that it was
/// calibrated for.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// The costs of the parts.
    pub calibration: ZeroCalibration,
    /// The memory that pools zero.
    pub memory: Memory,
    /// One take in so many is timed, which costs time too; none if that is 0.
    pub timed_every: u32,
}

/// A pass over few pages is over before chance evens out: so many pages at least
/// are simulated, with other chances each time.
const PAGES: u64 = 2_000;

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

    /// With several chances if it is a small one.
    fn jobs(&self, setting: &Setting, pages: u64) -> Vec<Job> {
        let job = Job::new(*setting, pages);
        let seeds = 0..PAGES.div_ceil(pages.max(1));
        seeds.map(|seed| Job { seed, ..job }).collect()
    }
}

/// The predictions that are recorded beside a run.
#[derive(Debug)]
pub struct Forecasts<'p> {
    plan: &'p PoolPlan,
    calibrator: Calibrator<'p>,
    rounds: u32,
    failed: Option<Refusal>,
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
        let cells: Vec<&Cell> = cells(plan).collect();
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
        let wanted = Wanted {
            areas: distinct(cells.iter().map(|cell| cell.area)),
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
            .times(self.plan.rounds.into())
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

    /// Puts what all of that predicts into the `measurements` of the same settings, and
    /// gives what the parts cost, and what could not be predicted. `next` is told of each
    /// prediction before it is made, and says whether to go on.
    pub fn finish(
        self,
        measurements: &mut [ZeroRow],
        next: &mut dyn FnMut(&Cell) -> bool,
    ) -> (ZeroCalibration, Option<Warning>) {
        let calibration = self.calibrator.calibration();
        let mut failed = self.failed;
        let is_known = calibration.rounds > 0;
        for cell in cells(self.plan).take_while(|cell| is_known && next(cell)) {
            let model = Calibrated {
                calibration: calibration.clone(),
                memory: cell.area.memory,
                timed_every: self.plan.timed_every(cell),
            };
            match model.within(&cell.setting, cell.area.pages) {
                Ok(prediction) => {
                    let (pool, lock) = (cell.pool(), cell.setting.lock.name());
                    let same = measurements.iter_mut().filter(|m| m.subject == lock);
                    let mut same = same.filter_map(ZeroRow::zeroed_mut);
                    if let Some(zeroed) = same.find(|zeroed| zeroed.pool == pool) {
                        zeroed.zero.predicted = Some(prediction);
                    }
                }
                Err(why) => failed = failed.or(Some(Refusal::new(format!("{cell}: {why}")))),
            }
        }
        let warning = failed.map(|why| {
            Warning::new(
                format!("Not everything could be predicted: {why}."),
                "Run it again while nothing else runs: the parts of a pool are measured in microseconds.",
            )
        });
        (calibration, warning)
    }
}

/// The cells for whose pools the model knows everything.
fn cells(plan: &PoolPlan) -> impl Iterator<Item = &Cell> {
    plan.cells.iter().filter(|cell| {
        cell.bursts.is_none()
            && cell.setting.dequeue == Dequeue::Range
            && cell.setting.returns.is_none()
            && !plan.is_oversubscribed(cell)
    })
}

/// The geometric mean of the errors should be no more than this.
pub const TARGET_MEAN: f64 = 0.15;
/// And no error more than this.
pub const TARGET_WORST: f64 = 0.25;

/// Of one number of one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The setting, in words.
    pub cell: String,
    /// Which number.
    pub what: &'static str,
    /// Predicted over measured.
    pub ratio: f64,
}

impl Ratio {
    /// By what share the larger of the two is larger; infinite where one of them is
    /// nothing.
    pub fn error(&self) -> f64 {
        if self.ratio.is_finite() && self.ratio > 0.0 {
            self.ratio.max(1.0 / self.ratio) - 1.0
        } else {
            f64::INFINITY
        }
    }
}

/// By what share predictions are off: the geometric mean of some, and the one that is off
/// the most; nothing of none.
pub fn errors(ratios: &[Ratio]) -> Option<(f64, &Ratio)> {
    let worst = ratios.iter();
    let worst = worst.max_by(|a, b| a.error().total_cmp(&b.error()))?;
    let logs: f64 = ratios.iter().map(|ratio| ratio.error().ln_1p()).sum();
    Some(((logs / ratios.len() as f64).exp() - 1.0, worst))
}

/// How the measurements agree with their predictions, in GB per second of CPU time and per elapsed
/// second, with at most `threads` workers.
pub fn agreement(measurements: &[ZeroRow], threads: u64) -> Vec<Ratio> {
    let mut ratios = Vec::new();
    for measurement in measurements {
        let zeroed = measurement.zeroed();
        let Some(ZeroedPages { pool, zero, .. }) = zeroed.filter(|of| of.pool.threads <= threads)
        else {
            continue;
        };
        let Some(predicted) = zero.predicted else {
            continue;
        };
        for (what, predicted, measured) in [
            ("GB per CPU-s", predicted.gb_per_cpu_s, zero.gb_per_cpu_s),
            ("GB/s", predicted.wall_gb_per_s, zero.wall_gb_per_s),
        ] {
            ratios.push(Ratio {
                cell: format!(
                    "{} x {}, batch {}, {}",
                    pool.threads, measurement.subject, pool.batch, pool.memory
                ),
                what,
                ratio: predicted.median / measured.median,
            });
        }
    }
    ratios
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::Interval;
    use punctual_zero_pool::{Batch, LockKind};

    use crate::rows::{LineCost, PoolOf, TakeCost, ZeroCost, Zeroing, ZeroingPrediction};

    /// The calibration of a computer that does not exist.
    /// Two CPUs, and round numbers.
    pub(super) fn calibration() -> ZeroCalibration {
        let take = |lock: &str, batch: &str, ns, timed_ns| TakeCost {
            lock: lock.to_owned(),
            batch: batch.to_owned(),
            take_ns: Interval::exactly(ns),
            timed_ns: Interval::exactly(timed_ns),
            ..TakeCost::default()
        };
        let zero = |memory: &str, workers, elsewhere, lock: Option<&str>, ns| ZeroCost {
            memory: memory.to_owned(),
            workers,
            elsewhere,
            lock: lock.map(str::to_owned),
            page_ns: Interval::exactly(ns),
            ..ZeroCost::default()
        };
        ZeroCalibration {
            rounds: 6,
            cpus: 2,
            hit_ns: Interval::exactly(1.0),
            rmw_ns: Interval::exactly(5.0),
            relax_ns: Interval::exactly(10.0),
            lines: vec![LineCost {
                from: 0,
                to: 1,
                read_ns: Interval::exactly(45.0),
                taken_ns: Interval::exactly(60.0),
                upgraded_ns: Interval::exactly(30.0),
                contended_ns: Interval::exactly(20.0),
            }],
            takes: vec![
                take("tas", "1", 20.0, 60.0),
                take("tas", "guided", 30.0, 70.0),
                take("counter", "1", 12.0, 52.0),
                take("counter", "guided", 16.0, 56.0),
            ],
            zeroing: vec![
                zero("hot", 1, false, None, 100.0),
                zero("hot", 2, false, None, 110.0),
                zero("hot", 2, true, None, 250.0),
                zero("hot", 1, false, Some("tas"), 130.0),
                zero("hot", 2, false, Some("tas"), 230.0),
                zero("cold", 1, false, None, 100.0),
                zero("cold", 2, false, None, 150.0),
                zero("cold", 2, true, None, 150.0),
            ],
            ..ZeroCalibration::default()
        }
    }

    fn model() -> Calibrated {
        Calibrated {
            calibration: calibration(),
            memory: Memory::Hot,
            timed_every: 0,
        }
    }

    /// Nanoseconds of CPU time that a page takes.
    fn page_ns(model: &Calibrated, setting: &Setting) -> f64 {
        let predicted = model.central(setting, 4_000).unwrap();
        4_096.0 / predicted.gb_per_cpu_s.median
    }

    #[test]
    fn one_worker_takes_what_was_measured_of_one() {
        let model = model();
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
        let timed = Calibrated {
            timed_every: 10,
            ..model.clone()
        };
        let timed = page_ns(&timed, &tas(Batch::One));
        assert!((timed / 134.0 - 1.0).abs() < 0.005, "{timed}");
        // A cost that was not measured right after a page is taken to be that of the operation
        // alone.
        let counter = page_ns(&model, &Setting::new(1, LockKind::Counter, Batch::One));
        assert!((counter / 112.0 - 1.0).abs() < 0.005, "{counter}");
    }

    #[test]
    fn two_workers_wait_for_each_other() {
        let model = model();
        let setting = Setting::new(2, LockKind::Tas, Batch::One);
        let predicted = model.within(&setting, 128).unwrap();
        assert!(predicted.wait_share.median > 0.05, "{predicted:?}");
        let central = model.central(&setting, 128).unwrap();
        let medians = [predicted, central].map(|p| p.gb_per_cpu_s.median);
        assert!((medians[0] / medians[1] - 1.0).abs() < 1e-9, "{medians:?}");
        assert!(predicted.gb_per_cpu_s.low <= medians[0]);
        assert!(model.central(&setting, 0).is_ok());
    }

    fn measurement(threads: u64, measured: f64, predicted: Option<[f64; 2]>) -> ZeroRow {
        let zero = Zeroing {
            gb_per_cpu_s: Interval::exactly(measured),
            wall_gb_per_s: Interval::exactly(measured),
            predicted: predicted.map(|[cpu, wall]| ZeroingPrediction {
                gb_per_cpu_s: Interval::exactly(cpu),
                wall_gb_per_s: Interval::exactly(wall),
                ..ZeroingPrediction::default()
            }),
            ..Zeroing::default()
        };
        let pool = PoolOf {
            threads,
            batch: "1".to_owned(),
            memory: "hot".to_owned(),
            ..PoolOf::default()
        };
        ZeroRow::pool("tas", ZeroedPages::of(pool, zero))
    }

    #[test]
    fn errors_are_relative_in_both_directions() {
        let measurements = [
            measurement(1, 10.0, Some([12.0, 10.0])),
            measurement(2, 10.0, Some([8.0, 10.0])),
            measurement(4, 10.0, Some([1.0, 1.0])),
            measurement(1, 10.0, None),
        ];
        let ratios = agreement(&measurements, 2);
        assert_eq!(ratios.len(), 4);
        let (mean, worst) = errors(&ratios).unwrap();
        assert_eq!(worst.cell, "2 x tas, batch 1, hot");
        assert!((worst.error() - 0.25).abs() < 1e-9);
        // The fourth root of 1.2 x 1.25.
        assert!((mean - (1.5_f64.powf(0.25) - 1.0)).abs() < 1e-9);
    }

    #[test]
    fn a_prediction_of_nothing_is_as_far_off_as_can_be() {
        let measurements = [measurement(1, 10.0, Some([0.0, 10.0]))];
        let ratios = agreement(&measurements, 2);
        let (mean, worst) = errors(&ratios).unwrap();
        assert_eq!((mean, worst.error()), (f64::INFINITY, f64::INFINITY));
    }
}
