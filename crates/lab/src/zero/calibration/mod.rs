//! What the parts of a pool cost on this computer: micro-measurements, one
//! mechanism each, in rounds. None of them is a pool at work; the model of this
//! computer is made of them, and then predicts pools.
//!
//! | file | what is measured |
//! |---|---|
//! | `operations` | a hit, a read-modify-write, the hint of a loop that waits, a reading of the clock |
//! | `lines` | what a cache line takes between two CPUs, and how far apart two begin |
//! | `takes` | a take that nobody else wants, by lock and batch |
//! | `zeroing` | a page, by how many in one go, by one CPU or all, written here or elsewhere |
//! | `parking` | giving up the CPU and being woken |
//! | `glance` | a quick look at what changes from one moment to the next |
//! | `samples` | what the rounds add up to |
//! | `crew` | threads that measure together |

mod crew;
mod glance;
mod lines;
mod operations;
mod parking;
mod samples;
mod takes;
mod zeroing;

use punctual_core::{Nanos, Refusal};
use punctual_pool::{Batch, Setting};
use punctual_record::ZeroCalibration;
use punctual_sys::memory::Kernel;

use super::host::{CpuClock, HostComputer, HostMemory};
use super::run::Area;
use crew::Crew;
use lines::Between;
use operations::Operations;
use parking::Parking;
use samples::Samples;
use takes::Take;
use zeroing::Field;

pub use glance::Glance;

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
    crew: Crew,
    /// The pairs of workers between whose CPUs lines travel.
    pairs: Vec<(usize, usize)>,
    samples: Samples,
}

/// One take in so many is timed, as usually in a pool that is measured.
const TIMED_EVERY: u32 = 16;

/// Passes over hot pages in a round: a millisecond or so, more than the time
/// between two interrupts.
const HOT_PASSES: u64 = 40;

/// From so many pages on one pass does.
const MANY_PAGES: u64 = 4_096;

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
        let crew = Crew::new();
        let pairs = pairs(crew.cpus());
        Ok(Self {
            wanted,
            memory,
            cpu_clock,
            crew,
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
        let pairs = Nanos::from_us(300).times(self.pairs.len() as u64);
        areas + pairs + Nanos::from_ms(10)
    }

    /// Measures everything once.
    ///
    /// # Errors
    /// There can be no such pool as one of those wanted.
    pub fn round(&mut self) -> Result<(), Refusal> {
        let clock = self.memory.clock();
        let operations = self.crew.alone(|| Operations::measure(clock));
        self.samples.operations(operations);
        for &(from, to) in &self.pairs {
            let between = Between::measure(&self.crew, clock, from, to);
            self.samples.between(from, to, between);
        }
        if self.crew.cpus() > 1 {
            let parking = Parking::measure(&self.crew, self.cpu_clock);
            self.samples.parking(parking);
        }
        self.takes()?;
        self.zeroing()?;
        self.samples.end_round();
        Ok(())
    }

    /// How many CPUs there are for workers.
    pub fn cpus(&self) -> usize {
        self.crew.cpus()
    }

    /// A quick look at how things stand for so many workers on one of the areas,
    /// which takes a millisecond, or a few where the area is beyond the caches.
    ///
    /// # Errors
    /// This CPU cannot zero in that way.
    pub fn glance(&self, area: Area, workers: usize) -> Result<Glance, Refusal> {
        let computer = self.computer()?;
        Ok(Glance::of(&self.crew, self.memory, computer, area, workers))
    }

    /// The medians of all rounds.
    pub fn calibration(&self) -> ZeroCalibration {
        let mut calibration = self.samples.calibration();
        calibration.cpus = self.crew.cpus();
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
            let measure = || Take::measure(computer, &setting, TIMED_EVERY, pages);
            let take = self.crew.alone(measure)?;
            self.samples.take(&setting, TIMED_EVERY, take);
        }
        Ok(())
    }

    fn zeroing(&mut self) -> Result<(), Refusal> {
        let computer = self.computer()?;
        for area in &self.wanted.areas {
            for field in fields(area.pages, self.crew.cpus()) {
                let passes = if area.pages < MANY_PAGES {
                    HOT_PASSES
                } else {
                    1
                };
                let sample = field.measure(&self.crew, self.memory, computer, passes);
                self.samples.zeroing(*area, field, sample);
            }
        }
        Ok(())
    }
}

/// What is measured of an area: one CPU, and all.
fn fields(pages: u64, cpus: usize) -> Vec<Field> {
    let mut workers = vec![1, cpus];
    workers.dedup();
    let fields = workers.into_iter();
    fields.map(|workers| Field::all(pages, workers)).collect()
}

/// The settings that differ for one worker whom nobody disturbs. Batches that are
/// the same whatever is left are alike.
fn distinct(settings: &[Setting]) -> Vec<Setting> {
    let mut distinct: Vec<Setting> = Vec::new();
    for setting in settings {
        let batch = setting.batch;
        let alike = batch.constant(setting.workers as u64).map(|_| Batch::One);
        let setting = Setting {
            workers: 1,
            batch: alike.unwrap_or(batch),
            returns: None,
            ..*setting
        };
        if !distinct.contains(&setting) {
            distinct.push(setting);
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
    use punctual_pool::{Dequeue, LockKind};

    #[test]
    fn few_cpus_are_paired_with_all_others_and_many_with_some() {
        assert_eq!(pairs(1), []);
        assert_eq!(pairs(3), [(0, 1), (0, 2), (1, 2)]);
        assert_eq!(pairs(16).len(), 120);
        assert_eq!(pairs(96).len(), 95 + 94);
    }

    #[test]
    fn constant_batches_are_alike_for_one_worker() {
        let setting = |lock, batch: &str| Setting::new(4, lock, batch.parse().unwrap());
        let settings = [
            setting(LockKind::Tas, "1"),
            setting(LockKind::Tas, "2n"),
            setting(LockKind::Tas, "guided"),
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
