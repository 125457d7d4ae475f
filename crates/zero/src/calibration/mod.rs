//! The costs of a pool's parts on this computer: micro-measurements, one mechanism each, in
//! rounds. The model of this computer is made of them, and then predicts pools.
//!
//! Pools of several workers are not among them: in none do two share a backlog or its lock. CPUs
//! share single cache lines, the memory with pages that one has written and another zeroes
//! afterwards, and in parking the turn.
//!
//! | file | what is measured |
//! |---|---|
//! | `operations` | a hit, a read-modify-write, the hint of a loop that waits, a reading of the clock; between two CPUs: reading a line, taking one, taking one that was just read, additions of both to one, how far apart two begin; giving up the CPU and being woken; and the threads that measure together |
//! | `zeroing` | a page, by one CPU or all, written here or elsewhere, and how much single pages differ; with a take of its own by the only worker of a pool, by lock; and takes alone, where nothing is zeroed, by lock and batch |
//! | this one | what is measured in a round, and what the rounds add up to |

mod operations;
mod zeroing;

use std::collections::BTreeMap;

use operations::{Between, Operations, Parking};
use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_record::Interval;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, LockKind, Setting};
use zeroing::Field;

use crate::calibration::zeroing::{DequeueTime, Sample};
use crate::host::{CpuClock, Cpus, HostComputer, HostMemory};
use crate::rows::{LineCost, ParkingCost, TakeCost, ZeroCalibration, ZeroCost};
use crate::run::Area;
use crate::{distinct, refusal};

pub(crate) use operations::mean_transfer;

/// The settings to calibrate for.
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
    team: Cpus,
    /// The pairs of workers between whose CPUs lines travel.
    pairs: Vec<(usize, usize)>,
    samples: Samples,
}

/// Passes over hot pages in a round: some milliseconds, more than the time between
/// two interrupts.
const HOT_PASSES: u64 = 80;

/// From so many pages on one pass does.
const MANY_PAGES: u64 = 4_096;

/// Each round measures so many lines, other ones each time, because their cost depends on where
/// they lie.
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
        wanted.kernel.check().map_err(refusal)?;
        let team = Cpus::of_this_process();
        let pairs = pairs(team.at_once);
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
        let clock = self.memory.clock;
        let operations = self.team.alone(|| Operations::measure(clock));
        self.samples.operations.push(operations);
        for &(from, to) in &self.pairs {
            for _ in 0..LINE_SAMPLES {
                let between = Between::measure(&self.team, clock, from, to);
                let samples = self.samples.between.entry((from, to));
                samples.or_default().push(between);
            }
        }
        if self.team.at_once > 1 {
            let parking = Parking::measure(&self.team, self.cpu_clock);
            self.samples.parking.push(parking);
        }
        self.takes()?;
        self.zeroing()?;
        self.samples.rounds += 1;
        Ok(())
    }

    /// The medians of all rounds.
    pub fn calibration(&self) -> ZeroCalibration {
        let mut calibration = self.samples.calibration();
        calibration.cpus = self.team.at_once;
        calibration.kernel = self.wanted.kernel.name().to_owned();
        calibration
    }

    fn computer(&self) -> Result<HostComputer<'m>, Refusal> {
        HostComputer::new(self.memory, self.wanted.kernel, None)
    }

    fn takes(&mut self) -> Result<(), Refusal> {
        let computer = self.computer()?;
        let pages = self.wanted.areas.iter().map(|area| area.pages).max();
        let pages = pages.unwrap_or(1);
        for setting in alone(&self.wanted.settings) {
            let measure = || DequeueTime::measure(computer, &setting, pages);
            let take = self.team.alone(measure)?;
            add(&mut self.samples.takes, setting, take);
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
                add(&mut self.samples.zeroing, (*area, field), sample);
            }
        }
        Ok(())
    }

    /// The measurements for so many pages: with one CPU, and with all.
    fn fields(&self, pages: u64) -> Vec<Field> {
        let locks = distinct(self.wanted.settings.iter().map(|setting| setting.lock));
        let field = |workers| Field {
            pages,
            workers,
            locks: locks.clone(),
        };
        let workers = distinct([1, self.team.at_once]).into_iter();
        workers.map(field).collect()
    }
}

/// The settings that differ for one undisturbed worker. Batches whose size does not depend on the
/// remaining pages are alike. The cost of a policy is the difference of a take with it to one with
/// these.
fn alone(settings: &[Setting]) -> Vec<Setting> {
    distinct(settings.iter().flat_map(|setting| {
        let constant = setting.batch.constant(setting.workers as u64).is_some();
        let own = (!constant).then_some(setting.batch);
        let batches = [Batch::One].into_iter().chain(own);
        batches.map(|batch| Setting {
            workers: 1,
            batch,
            returns: None,
            ..*setting
        })
    }))
}

/// Between which workers lines are measured: all, or the first and each other,
/// and each and its neighbour.
fn pairs(cpus: usize) -> Vec<(usize, usize)> {
    let all = (0..cpus).flat_map(|from| (from + 1..cpus).map(move |to| (from, to)));
    let is_near = |&(from, to): &(usize, usize)| cpus <= ALL_PAIRS || from == 0 || to == from + 1;
    all.filter(is_near).collect()
}

#[derive(Clone, Debug, Default)]
struct Samples {
    rounds: u32,
    operations: Vec<Operations>,
    between: BTreeMap<(usize, usize), Vec<Between>>,
    parking: Vec<Parking>,
    takes: Vec<(Setting, Vec<DequeueTime>)>,
    zeroing: Vec<((Area, Field), Vec<Sample>)>,
}

/// One more of these under a key.
fn add<K: PartialEq, V>(all: &mut Vec<(K, Vec<V>)>, key: K, sample: V) {
    match all.iter_mut().find(|(known, _)| *known == key) {
        Some((_, samples)) => samples.push(sample),
        None => all.push((key, vec![sample])),
    }
}

impl Samples {
    fn calibration(&self) -> ZeroCalibration {
        let operation = |of: fn(&Operations) -> f64| median(&self.operations, of);
        ZeroCalibration {
            rounds: self.rounds,
            hit_ns: operation(|o| o.hit),
            rmw_ns: operation(|o| o.rmw),
            relax_ns: operation(|o| o.relax),
            clock_ns: operation(|o| o.clock),
            lines: self.lines(),
            start_apart_ns: self.start_apart(),
            parking: (!self.parking.is_empty()).then(|| ParkingCost {
                cpu_ns: median(&self.parking, |p| p.cpu),
                turnaround_ns: median(&self.parking, |p| p.turn),
            }),
            takes: self.take_costs(),
            zeroing: self.zero_costs(),
            ..ZeroCalibration::default()
        }
    }

    fn lines(&self) -> Vec<LineCost> {
        let each = self.between.iter();
        let cost = |(&(from, to), samples): (_, &Vec<Between>)| LineCost {
            from,
            to,
            read_ns: median(samples, |b| b.read),
            taken_ns: median(samples, |b| b.taken),
            upgraded_ns: median(samples, |b| b.upgraded),
            contended_ns: median(samples, |b| b.contended),
        };
        each.map(cost).collect()
    }

    fn start_apart(&self) -> Option<Interval> {
        let all: Vec<f64> = self.between.values().flatten().map(|b| b.apart).collect();
        Interval::of(&all)
    }

    fn take_costs(&self) -> Vec<TakeCost> {
        let each = self.takes.iter();
        let cost = |(setting, samples): &(Setting, Vec<DequeueTime>)| TakeCost {
            lock: setting.lock.name().to_owned(),
            batch: setting.batch.to_string(),
            dequeue: setting.dequeue.name().to_owned(),
            take_ns: median(samples, |t| t.take),
            timed_ns: median(samples, |t| t.timed),
            pages: median(samples, |t| t.pages).median,
        };
        each.map(cost).collect()
    }

    fn zero_costs(&self) -> Vec<ZeroCost> {
        let mut costs = Vec::new();
        for ((area, field), samples) in &self.zeroing {
            let seen = |of: &dyn Fn(&Sample) -> Option<f64>| {
                let seen: Vec<f64> = samples.iter().filter_map(of).collect();
                Interval::of(&seen)
            };
            let jitter = seen(&|sample| sample.jitter).map(|interval| interval.median);
            let settled_ns = seen(&|sample| sample.settled);
            let mut add = |elsewhere, lock: Option<&LockKind>, of: &dyn Fn(&Sample) -> _| {
                costs.extend(seen(of).map(|page_ns| ZeroCost {
                    memory: area.memory.name().to_owned(),
                    bytes: area.bytes(),
                    workers: field.workers,
                    elsewhere,
                    lock: lock.map(|lock| lock.name().to_owned()),
                    jitter: jitter.filter(|_| lock.is_none()),
                    settled_ns: settled_ns.filter(|_| lock.is_none()),
                    page_ns,
                }));
            };
            add(false, None, &|sample| sample.here);
            add(true, None, &|sample| sample.elsewhere);
            for (index, lock) in field.locks.iter().enumerate() {
                add(false, Some(lock), &|sample| sample.under[index]);
            }
        }
        costs
    }
}

/// The median of something of all samples; nothing where there are none.
fn median<T>(samples: &[T], of: impl Fn(&T) -> f64) -> Interval {
    let values: Vec<f64> = samples.iter().map(of).collect();
    Interval::of(&values).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_pool::{Batch, Dequeue};

    use crate::run::Memory;

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
        let alone = alone(&settings).into_iter();
        let distinct: Vec<_> = alone.map(|s| (s.lock, s.batch, s.dequeue)).collect();
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

    #[test]
    fn rounds_add_up_to_medians() {
        let mut samples = Samples::default();
        let setting = Setting::new(1, LockKind::Mcs, Batch::One);
        let area = Area {
            memory: Memory::Hot,
            pages: 128,
        };
        let field = Field {
            pages: 128,
            workers: 2,
            locks: vec![LockKind::Mcs],
        };
        for ns in [3.0, 1.0, 8.0] {
            samples.operations.push(Operations {
                rmw: ns,
                ..Operations::default()
            });
            samples.between.entry((0, 1)).or_default().push(Between {
                read: 2.0 * ns,
                taken: ns,
                upgraded: ns,
                contended: ns,
                apart: 10.0 * ns,
            });
            samples.parking.push(Parking {
                cpu: 100.0 * ns,
                turn: 1_000.0 * ns,
            });
            let take = DequeueTime {
                take: ns,
                timed: 4.0 * ns,
                pages: 1.0,
            };
            add(&mut samples.takes, setting, take);
            let sample = Sample {
                here: Some(ns),
                elsewhere: None,
                jitter: Some(ns / 10.0),
                settled: Some(5.0 * ns),
                under: vec![Some(2.0 * ns)],
            };
            add(&mut samples.zeroing, (area, field.clone()), sample);
            samples.rounds += 1;
        }
        let calibration = samples.calibration();
        let of_three = Interval {
            median: 3.0,
            low: 1.0,
            high: 8.0,
        };
        assert_eq!((calibration.rounds, calibration.rmw_ns), (3, of_three));
        let line = &calibration.lines[0];
        assert_eq!((line.from, line.to, line.taken_ns), (0, 1, of_three));
        assert_eq!(line.read_ns.median, 6.0);
        assert_eq!(calibration.start_apart_ns.map(|ns| ns.median), Some(30.0));
        let parking = calibration.parking.unwrap();
        assert_eq!(parking.turnaround_ns.median, 3_000.0);
        let take = &calibration.takes[0];
        assert_eq!((&take.lock[..], &take.batch[..]), ("mcs", "1"));
        assert_eq!(take.take_ns, of_three);
        assert_eq!(take.timed_ns.median, 12.0);
        let zeroing = calibration.zeroing.iter();
        let zeroing: Vec<_> = zeroing
            .map(|cost| {
                let lock = cost.lock.as_deref();
                let page_ns = cost.page_ns.median;
                let settled = cost.settled_ns.map(|ns| ns.median);
                (cost.workers, cost.jitter, settled, lock, page_ns)
            })
            .collect();
        assert_eq!(
            zeroing,
            [
                (2, Some(0.3), Some(15.0), None, 3.0),
                (2, None, None, Some("mcs"), 6.0)
            ]
        );
    }

    #[test]
    fn one_cpu_has_no_lines() {
        let calibration = Samples::default().calibration();
        assert!(calibration.lines.is_empty() && calibration.start_apart_ns.is_none());
        assert_eq!(calibration.parking, None);
    }
}
