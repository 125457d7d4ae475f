//! One setting on one memory, and the product of everything that was asked for, without
//! what cannot be.

use std::fmt;

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_record::Warning;
use punctual_zero_memory::{Kernel, PAGE};
use punctual_zero_pool::{Batch, Dequeue, LockKind, Setting};

use super::{Bursts, Settings, Sizes};
use crate::host::{Job, Links};
use crate::rows::{Arrivals, PoolOf};
use crate::{Grid, ascending, refusal};

#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    pub(super) cells: Vec<Cell>,
    pub(super) left_out: Vec<Warning>,
}

impl Cells {
    /// Everything that `settings` ask for, on a computer with such `sizes`.
    pub(super) fn of(settings: &Settings, sizes: &Sizes) -> Result<Self, Refusal> {
        let mut cells = Self::default();
        let areas = cells.areas(settings, sizes)?;
        let kernels = kernels(settings)?;
        let dequeues = settings.dequeues.clone().unwrap_or(vec![Dequeue::Range]);
        for dequeue in dequeues {
            let (asked, left_out) = grid(settings, sizes.cpus, dequeue)?.settings();
            for why in left_out {
                cells.leave_out(
                    format!("Impossible pools were left out: {why}."),
                    "Leave one of them out.",
                );
            }
            for &area in &areas {
                for &kernel in &kernels {
                    for &setting in &asked {
                        let cell = Cell {
                            bursts: settings.bursts,
                            ..Cell::of(kernel, area, setting)
                        };
                        cells.add(cell, settings, sizes.cpus);
                    }
                }
            }
        }
        if cells.cells.is_empty() {
            let why = cells.left_out.iter();
            let why = why.map(|w| {
                w.what
                    .trim_start_matches("Impossible pools were left out: ")
            });
            let why: Vec<&str> = why.collect();
            let why = why.join(" ");
            return Err(Refusal::new(format!("nothing is left to measure: {why}")));
        }
        Ok(cells)
    }

    fn add(&mut self, cell: Cell, settings: &Settings, cpus: usize) {
        let crowded = cell.setting.workers > cpus && cell.area.memory == Memory::Hot;
        if crowded && settings.threads.is_none() {
            self.leave_out(
                format!(
                    "Pools of {} threads were not measured on hot memory (a part that fits in the caches): one thread would \
                     zero all of it before the others begin.",
                    cell.setting.workers
                ),
                "Name them with --threads to measure them all the same.",
            );
        } else if !self.cells.contains(&cell) {
            self.cells.push(cell);
        }
    }

    /// One line for each reason.
    fn leave_out(&mut self, what: String, remedy: &str) {
        let left_out = Warning::new(what, remedy);
        if !self.left_out.contains(&left_out) {
            self.left_out.push(left_out);
        }
    }

    /// A named amount may be too much for this computer: one of several is then left out.
    fn areas(&mut self, settings: &Settings, sizes: &Sizes) -> Result<Vec<Area>, Refusal> {
        if let Some(bytes) = settings.bytes {
            return Ok(vec![sizes.given(bytes, settings)?]);
        }
        let memories = settings.memories.clone();
        let memories = memories.unwrap_or_else(|| vec![Memory::Hot, Memory::Cold]);
        let mut areas = Vec::new();
        for &memory in &memories {
            match sizes.named(memory, settings) {
                Ok(area) => areas.push(area),
                Err(why) if memories.len() == 1 => return Err(why),
                Err(why) => self.leave_out(
                    format!("{} memory was left out: {why}.", memory.name()),
                    "Free memory, or allow more.",
                ),
            }
        }
        Ok(areas)
    }
}

fn grid(settings: &Settings, cpus: usize, dequeue: Dequeue) -> Result<Grid, Refusal> {
    let (locks, batches) = (settings.locks.clone(), settings.batches.clone());
    Ok(Grid {
        threads: threads(settings, cpus)?,
        locks: locks.unwrap_or_else(|| usual_locks(settings)),
        batches: batches.unwrap_or_else(|| usual_batches(settings)),
        dequeue,
        returns: settings.returns,
    })
}

fn kernels(settings: &Settings) -> Result<Vec<Kernel>, Refusal> {
    let kernels = settings.kernels.clone().unwrap_or(vec![Kernel::Memset]);
    for kernel in &kernels {
        kernel.check().map_err(refusal)?;
    }
    Ok(kernels)
}

/// Up to so many workers for each CPU. With 39, as in the article's first test,
/// this computer is far beyond what makes sense already, and each is a thread.
const MOST_PER_CPU: usize = 64;

fn threads(settings: &Settings, cpus: usize) -> Result<Vec<usize>, Refusal> {
    let Some(threads) = &settings.threads else {
        return Ok(usual_threads(settings, cpus));
    };
    let most = cpus * MOST_PER_CPU;
    for &workers in threads {
        if workers == 0 {
            return Err(Refusal::new(
                "0 threads zero nothing; give one at least with --threads",
            ));
        }
        if workers > most {
            return Err(Refusal::new(format!(
                "{workers} threads are too many for the CPUs of this process ({cpus}); give {most} at most with \
                 --threads"
            )));
        }
    }
    Ok(threads.clone())
}

fn usual_threads(settings: &Settings, cpus: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < cpus);
    match settings.quick {
        true => ascending(doubling.take(1).chain([cpus])),
        false => ascending(doubling.chain([cpus, 2 * cpus])),
    }
}

fn usual_locks(settings: &Settings) -> Vec<LockKind> {
    let usual = |lock: &LockKind| !settings.quick || lock.facts().is_in_quick_runs;
    LockKind::ALL.into_iter().filter(usual).collect()
}

/// The batches of Windows 10, of the article's advice, one well beyond it, and the usual one of
/// loop schedulers.
fn usual_batches(settings: &Settings) -> Vec<Batch> {
    let (few, many) = (Batch::One, Batch::Fixed(64));
    match settings.quick {
        true => vec![few, many],
        false => vec![few, Batch::TwiceWorkers, many, Batch::GUIDED],
    }
}

/// The subject of a measurement: a pool under a setting, and the memory it zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// How workers work together.
    pub setting: Setting,
    /// How each of them zeroes a page.
    pub kernel: Kernel,
    /// The pages.
    pub area: Area,
    /// Whether they come in bursts; else they are all there, and when they are
    /// zero they are all there again.
    pub bursts: Option<Bursts>,
}

/// The pages of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Where they are before they are zeroed.
    pub memory: Memory,
    /// How many there are.
    pub pages: u64,
}

/// Where pages are before they are zeroed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// In the second cache of a CPU.
    Hot,
    /// Somewhere in the caches.
    Warm,
    /// Beyond all caches.
    Cold,
}

impl Memory {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }
}

impl Area {
    /// Its size.
    pub const fn bytes(self) -> u64 {
        self.pages * PAGE as u64
    }
}

impl Cell {
    /// A setting on one memory, without bursts.
    pub const fn of(kernel: Kernel, area: Area, setting: Setting) -> Self {
        Self {
            setting,
            kernel,
            area,
            bursts: None,
        }
    }

    /// Each of these settings on one memory, without bursts.
    pub fn all(kernel: Kernel, area: Area, settings: Vec<Setting>) -> Vec<Self> {
        let settings = settings.into_iter();
        settings.map(|s| Self::of(kernel, area, s)).collect()
    }

    /// The pool and its memory, as its measurement has them; its lock is the subject.
    pub fn pool(&self) -> PoolOf {
        PoolOf {
            kernel: self.kernel.name().to_owned(),
            memory: self.area.memory.name().to_owned(),
            bytes: self.area.bytes(),
            arrivals: match self.bursts {
                None => Arrivals::Closed,
                Some(_) => Arrivals::Burst,
            },
            every_ns: self.bursts.map(|bursts| bursts.every.as_ns()),
            ..PoolOf::of(&self.setting)
        }
    }

    /// How often pages are taken in a pass, about.
    pub(super) fn takes(&self) -> u64 {
        let (pages, workers) = (self.area.pages, self.setting.workers as u64);
        let batch = self.setting.batch;
        let takes = match batch.constant(workers) {
            Some(count) => pages.div_ceil(count),
            // The owner of a share takes from it page by page.
            None if batch == Batch::StealHalf => pages,
            None => batch.planned(pages, workers),
        };
        // Each worker finds once that there is nothing left.
        takes + workers
    }

    /// The job of this cell, in batches of closed passes over `length`, with so many passes in a
    /// round, over all those rounds.
    pub(super) fn job<'a>(
        &self,
        length: Nanos,
        links: Option<&'a Links>,
        passes: u64,
        rounds: u32,
    ) -> Job<'a> {
        let takes = self.takes() * passes;
        let every = sampled_every(takes * u64::from(rounds));
        let samples = takes / u64::from(every) + passes;
        let room = SPARE * samples.div_ceil(self.setting.workers as u64);
        Job {
            setting: self.setting,
            kernel: self.kernel,
            pages: self.area.pages,
            links,
            bursts: self.bursts,
            length,
            every,
            room: room.min(MOST_SAMPLES) as usize,
            longest: longest_pass(self.area.pages),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting {
            workers,
            lock,
            batch,
            ..
        } = self.setting;
        let memory = self.area.memory.name();
        write!(f, "{workers} x {lock}, batch {batch}, {memory}")
    }
}

/// Which takes are timed. Timing one takes four readings of the clock, 160 ns on the test machine,
/// where a page of 4 KiB takes 40 to 250. One in 64 thus costs a few percent. More are timed where
/// that would leave less than twice the thousand that a 99th percentile needs.
fn sampled_every(takes: u64) -> u32 {
    const USUALLY: u32 = 64;
    const SAMPLES: u64 = 2_000;
    let mut every = USUALLY;
    while every > 1 && takes / u64::from(every) < SAMPLES {
        every /= 2;
    }
    every
}

/// A worker that gets the lock more often than others has more samples.
const SPARE: u64 = 4;

/// The most samples that a worker keeps in a round, in 1.5 MiB.
const MOST_SAMPLES: u64 = 1 << 16;

/// A second, and fifty times the time of a page by one worker. A longer pass is one of a pool
/// whose workers wait for each other's time slices.
fn longest_pass(pages: u64) -> Nanos {
    Nanos::from_secs(1) + Nanos::from_us(10).times(pages)
}

#[cfg(test)]
mod tests {
    use punctual_zero_pool::LockKind;

    use super::*;

    fn sizes(cpus: usize) -> Sizes {
        Sizes {
            caches: vec![],
            cpus,
            free: Some(8 << 30),
        }
    }

    fn cells(settings: &Settings) -> Cells {
        Cells::of(settings, &sizes(2)).unwrap()
    }

    #[test]
    fn the_usual_grid_doubles_workers_up_to_twice_the_cpus() {
        for (cpus, threads) in [
            (1, vec![1, 2]),
            (2, vec![1, 2, 4]),
            (6, vec![1, 2, 4, 6, 12]),
            (8, vec![1, 2, 4, 8, 16]),
        ] {
            assert_eq!(usual_threads(&Settings::default(), cpus), threads);
        }
        let cells = cells(&Settings::default());
        // 6 locks, 4 batches; 2 numbers of workers hot and 3 cold.
        assert_eq!(cells.cells.len(), 6 * 4 * (2 + 3));
        let crowded = |cell: &&Cell| cell.setting.workers > 2;
        let mut crowded = cells.cells.iter().filter(crowded);
        assert!(crowded.all(|cell| cell.area.memory == Memory::Cold));
        assert_eq!(cells.left_out.len(), 1);
    }

    #[test]
    fn what_cannot_be_is_left_out_once_and_refused_alone() {
        let both = Settings {
            threads: Some(vec![1, 2]),
            locks: Some(vec![LockKind::Mcs, LockKind::Counter]),
            batches: Some(vec![Batch::Growing]),
            ..Settings::default()
        };
        let cells = cells(&both);
        assert!(cells.cells.iter().all(|c| c.setting.lock == LockKind::Mcs));
        assert!(
            cells.left_out[0]
                .what
                .starts_with("Impossible pools were left out: growing batches need a lock")
        );
        let alone = Settings {
            locks: Some(vec![LockKind::Counter]),
            ..both
        };
        let why = Cells::of(&alone, &sizes(2)).unwrap_err().to_string();
        assert!(
            why.starts_with("nothing is left to measure: growing batches"),
            "{why}"
        );
    }

    #[test]
    fn no_threads_and_absurdly_many_are_refused() {
        for (threads, says) in [(0, "give one at least"), (129, "give 128 at most")] {
            let settings = Settings {
                threads: Some(vec![1, threads]),
                ..Settings::default()
            };
            let why = Cells::of(&settings, &sizes(2)).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn named_twice_is_measured_once() {
        let settings = Settings {
            threads: Some(vec![1, 1]),
            batches: Some(vec![Batch::One, Batch::One]),
            locks: Some(vec![LockKind::Tas]),
            bytes: Some(1 << 20),
            ..Settings::default()
        };
        assert_eq!(cells(&settings).cells.len(), 1);
    }

    fn cell(batch: &str, pages: u64) -> Cell {
        let memory = Memory::Hot;
        let setting = Setting::new(4, LockKind::Mcs, batch.parse().unwrap());
        Cell::of(Kernel::Memset, Area { memory, pages }, setting)
    }

    #[test]
    fn takes_are_what_the_policy_plans_and_the_last_of_each() {
        for (batch, pages, takes) in [
            ("1", 1_000, 1_004),
            ("64", 1_000, 20),
            ("n", 1_000, 254),
            ("steal-half", 1_000, 1_004),
            ("half", 1_024, 15),
        ] {
            assert_eq!(cell(batch, pages).takes(), takes, "{batch}");
        }
    }

    #[test]
    fn few_takes_are_all_timed() {
        for (takes, every) in [(10, 1), (3_999, 1), (4_000, 2), (18_000, 8), (1 << 30, 64)] {
            assert_eq!(sampled_every(takes), every, "{takes}");
        }
        let job = cell("64", 1_000).job(Nanos::from_ms(1), None, 3, 6);
        // 20 takes in each of 3 passes, by 4 workers.
        assert_eq!((job.every, job.room), (1, 4 * 16));
    }

    #[test]
    fn parameters_name_what_a_measurement_depends_on() {
        let mut cell = cell("guided", 256);
        cell.bursts = Some(Bursts {
            every: Nanos::from_secs(2),
            times: 3,
        });
        cell.setting.returns = Some(LockKind::Ticket);
        let pool = cell.pool();
        let words = [&pool.batch, &pool.dequeue, &pool.kernel, &pool.memory];
        assert_eq!(words, ["guided", "range", "memset", "hot"]);
        assert_eq!((pool.threads, pool.bytes), (4, 1 << 20));
        assert_eq!(pool.arrivals, Arrivals::Burst);
        assert_eq!(pool.every_ns, Some(2_000_000_000));
        assert_eq!(pool.returns.as_deref(), Some("ticket"));
    }
}
