//! What the parts of a pool cost on this computer: micro-measurements, one
//! mechanism each, in rounds. The model of this computer is made of them, and then
//! predicts pools.
//!
//! Pools of several workers are not among them: in none do two share a backlog or
//! its lock. What CPUs share is single cache lines, the memory with pages that one
//! has written and another zeroes afterwards, and in parking whose turn it is.
//!
//! | file | what is measured |
//! |---|---|
//! | `operations` | a hit, a read-modify-write, the hint of a loop that waits, a reading of the clock; between two CPUs: reading a line, taking one, taking one that was just read, additions of both to one, how far apart two begin; giving up the CPU and being woken |
//! | `takes` | a take by the only worker of a pool, where nothing is zeroed, by lock and batch |
//! | `zeroing` | a page, by one CPU or all, written here or elsewhere, and how much single pages differ; and with a take of its own by the only worker of a pool, by lock |
//! | `samples` | what the rounds add up to |
//! | `workers` | threads that measure together |

mod operations;
mod samples;
mod takes;
mod workers;
mod zeroing;

use operations::Between;
use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, Setting};
use workers::Workers;

use super::host::{CpuClock, HostComputer, HostMemory};
use super::run::Area;
use crate::rows::ZeroCalibration;
use operations::Operations;
use operations::Parking;
pub(crate) use operations::mean_transfer;
use samples::Samples;
use takes::Take;
use zeroing::Field;

/// What is to be calibrated for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The memory that pools are to zero.
    pub areas: Vec<Area>,
    /// How a page is zeroed.
    pub kernel: Kernel,
    /// The locks, batches and ways to dequeue of the pools; how many workers they
    /// have makes no difference.
    pub settings: Vec<Setting>,
}

/// Measures what a model of this computer needs.
#[derive(Debug)]
pub struct Calibrator<'m> {
    wanted: Wanted,
    memory: &'m HostMemory,
    cpu_clock: CpuClock,
    team: Workers,
    /// The pairs of workers between whose CPUs lines travel.
    pairs: Vec<(usize, usize)>,
    samples: Samples,
}

/// Passes over hot pages in a round: some milliseconds, more than the time between
/// two interrupts.
const HOT_PASSES: u64 = 80;

/// From so many pages on one pass does.
const MANY_PAGES: u64 = 4_096;

/// So often lines are measured in a round, other ones each time: what they take depends
/// on where they are.
const LINE_SAMPLES: usize = 5;

/// All pairs are measured up to so many CPUs: 120 of them.
const ALL_PAIRS: usize = 16;

impl<'m> Calibrator<'m> {
    /// A calibration for what is wanted, in `memory`, which holds each of the
    /// areas.
    ///
    /// # Errors
    /// This CPU cannot zero in that way.
    pub fn new(
        wanted: Wanted,
        memory: &'m HostMemory,
        cpu_clock: CpuClock,
    ) -> Result<Self, Refusal> {
        let checked = wanted.kernel.check();
        checked.map_err(|why| Refusal::new(why.to_string()))?;
        let team = Workers::new();
        let pairs = pairs(team.cpus());
        Ok(Self {
            wanted,
            memory,
            cpu_clock,
            team,
            pairs,
            samples: Samples::default(),
        })
    }

    /// How long a round takes, roughly: mostly that of filling cold memory with
    /// something else, at 2 GB/s, and zeroing it, at 10.
    pub fn round_length(&self) -> Nanos {
        let cold = self.wanted.areas.iter().map(|area| area.bytes());
        // Bytes in nanoseconds are GB in a second.
        let per_area = |bytes: u64| Nanos::new(2 * (bytes / 2 + bytes / 10));
        let areas = cold.map(per_area).fold(Nanos::ZERO, |sum, part| sum + part);
        let pairs = Nanos::from_ms(20).times(self.pairs.len() as u64);
        areas + pairs + Nanos::from_ms(10)
    }

    /// Measures everything once. A round in which the user wants an end counts for
    /// nothing.
    ///
    /// # Errors
    /// There can be no such pool as one of those wanted.
    pub fn round(&mut self) -> Result<(), Refusal> {
        let before = self.samples.clone();
        self.measure()?;
        if self.memory.is_stopped() {
            self.samples = before;
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<(), Refusal> {
        let clock = self.memory.clock();
        let operations = self.team.alone(|| Operations::measure(clock));
        self.samples.operations(operations);
        for &(from, to) in &self.pairs {
            for _ in 0..LINE_SAMPLES {
                let between = Between::measure(&self.team, clock, from, to);
                self.samples.between(from, to, between);
            }
        }
        if self.team.cpus() > 1 {
            let parking = Parking::measure(&self.team, self.cpu_clock);
            self.samples.parking(parking);
        }
        self.takes()?;
        self.zeroing()?;
        self.samples.end_round();
        Ok(())
    }

    /// How many CPUs there are for workers.
    pub fn cpus(&self) -> usize {
        self.team.cpus()
    }

    /// The medians of all rounds.
    pub fn calibration(&self) -> ZeroCalibration {
        let mut calibration = self.samples.calibration();
        calibration.cpus = self.team.cpus();
        calibration.kernel = self.wanted.kernel.name().to_owned();
        calibration
    }

    fn computer(&self) -> Result<HostComputer<'m>, Refusal> {
        HostComputer::new(self.memory, self.wanted.kernel, None)
            .map_err(|why| Refusal::new(why.to_string()))
    }

    fn takes(&mut self) -> Result<(), Refusal> {
        let computer = self.computer()?;
        let pages = self.wanted.areas.iter().map(|area| area.pages).max();
        let pages = pages.unwrap_or(1);
        for setting in distinct(&self.wanted.settings) {
            let measure = || Take::measure(computer, &setting, pages);
            let take = self.team.alone(measure)?;
            self.samples.take(&setting, take);
        }
        Ok(())
    }

    fn zeroing(&mut self) -> Result<(), Refusal> {
        let computer = self.computer()?;
        for area in &self.wanted.areas {
            let passes = if area.pages < MANY_PAGES {
                HOT_PASSES
            } else {
                1
            };
            for field in self.fields(area.pages) {
                let sample = field.measure(&self.team, self.memory, computer, passes);
                self.samples.zeroing(*area, &field, sample);
            }
        }
        Ok(())
    }

    /// What is measured of so many pages: one CPU, and all of them.
    fn fields(&self, pages: u64) -> Vec<Field> {
        let mut locks = Vec::new();
        for setting in &self.wanted.settings {
            if !locks.contains(&setting.lock) {
                locks.push(setting.lock);
            }
        }
        let mut workers = vec![1, self.team.cpus()];
        workers.dedup();
        let field = |workers| Field {
            pages,
            workers,
            locks: locks.clone(),
        };
        workers.into_iter().map(field).collect()
    }
}

/// The settings that differ for one worker whom nobody disturbs. Batches that are
/// the same whatever is left are alike; what a policy costs is what a take costs more
/// with it than with one of these.
fn distinct(settings: &[Setting]) -> Vec<Setting> {
    let mut distinct: Vec<Setting> = Vec::new();
    for setting in settings {
        let constant = setting.batch.constant(setting.workers as u64).is_some();
        let own = (!constant).then_some(setting.batch);
        for batch in [Batch::One].into_iter().chain(own) {
            let setting = Setting {
                workers: 1,
                batch,
                returns: None,
                ..*setting
            };
            if !distinct.contains(&setting) {
                distinct.push(setting);
            }
        }
    }
    distinct
}

/// Between which workers lines are measured: all, or the first and each other,
/// and each and its neighbour.
fn pairs(cpus: usize) -> Vec<(usize, usize)> {
    let all = (0..cpus).flat_map(|from| (from + 1..cpus).map(move |to| (from, to)));
    let is_near = |&(from, to): &(usize, usize)| cpus <= ALL_PAIRS || from == 0 || to == from + 1;
    all.filter(is_near).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_pool::{Dequeue, LockKind};

    #[test]
    fn few_cpus_are_paired_with_all_others_and_many_with_some() {
        assert_eq!(pairs(1), []);
        assert_eq!(pairs(3), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(pairs(16).len(), 120);
        assert_eq!(pairs(96).len(), 95 + 94);
    }

    #[test]
    fn constant_batches_are_alike_for_one_worker_and_belong_to_every_lock() {
        let setting = |lock, batch: &str| Setting::new(4, lock, batch.parse().unwrap());
        let settings = [
            setting(LockKind::Tas, "guided"),
            setting(LockKind::Tas, "2n"),
            setting(LockKind::Mcs, "64"),
        ];
        let distinct: Vec<_> = distinct(&settings)
            .into_iter()
            .map(|s| (s.lock, s.batch, s.dequeue))
            .collect();
        let range = Dequeue::Range;
        assert_eq!(
            distinct,
            [
                (LockKind::Tas, Batch::One, range),
                (LockKind::Tas, Batch::GUIDED, range),
                (LockKind::Mcs, Batch::One, range)
            ]
        );
    }
}
