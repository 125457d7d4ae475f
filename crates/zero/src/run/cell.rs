//! One setting on one memory.

use std::fmt;

use punctual_core::Nanos;
use punctual_zero_memory::{Kernel, PAGE};
use punctual_zero_pool::{Batch, Setting};

use super::Bursts;
use crate::host::{Arrivals, Job, Links};
use crate::rows::{self, PoolOf};

/// What is measured: a pool under a setting, and the memory it zeroes.
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
    /// Each of these settings on one memory, without bursts.
    pub fn all(kernel: Kernel, area: Area, settings: Vec<Setting>) -> Vec<Self> {
        let cell = |setting| Self {
            setting,
            kernel,
            area,
            bursts: None,
        };
        settings.into_iter().map(cell).collect()
    }

    /// The pool and its memory, as its measurement has them; its lock is the subject.
    pub fn pool(&self) -> PoolOf {
        let setting = &self.setting;
        PoolOf {
            threads: setting.workers as u64,
            batch: setting.batch.to_string(),
            dequeue: setting.dequeue.to_string(),
            kernel: self.kernel.name().to_owned(),
            memory: self.area.memory.name().to_owned(),
            bytes: self.area.bytes(),
            arrivals: match self.bursts {
                None => rows::Arrivals::Closed,
                Some(_) => rows::Arrivals::Burst,
            },
            every_ns: self.bursts.map(|bursts| bursts.every.as_ns()),
            returns: setting.returns.map(|lock| lock.to_string()),
            ..PoolOf::default()
        }
    }

    /// How often pages are taken in a pass, about.
    pub(super) fn takes(&self) -> u64 {
        let (pages, workers) = (self.area.pages, self.setting.workers as u64);
        let batch = self.setting.batch;
        let takes = match batch.constant(workers) {
            Some(count) => pages.div_ceil(count),
            // Whoever owns a share takes from it page by page.
            None if batch == Batch::StealHalf => pages,
            None => batch.planned(pages, workers),
        };
        // Each worker finds once that there is nothing left.
        takes + workers
    }

    /// The job that this is, in batches of closed passes that go on for `length`,
    /// where so many passes are made in a round, in all those rounds.
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
            arrivals: match self.bursts {
                None => Arrivals::Closed { length },
                Some(Bursts { every, times }) => Arrivals::Burst { every, times },
            },
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

/// Which of so many takes is timed. Timing one takes four readings of the clock,
/// 160 ns on the test machine, where a page of 4 KiB takes 40 to 250: one in 64
/// costs a few percent. Where that would leave less than twice the thousand that a
/// 99th percentile takes, more of them are.
fn sampled_every(takes: u64) -> u32 {
    const USUALLY: u32 = 64;
    const SAMPLES: u64 = 2_000;
    let mut every = USUALLY;
    while every > 1 && takes / u64::from(every) < SAMPLES {
        every /= 2;
    }
    every
}

/// Who gets the lock more often than others has more samples.
const SPARE: u64 = 4;

/// The most samples that a worker keeps in a round, in 1.5 MiB.
const MOST_SAMPLES: u64 = 1 << 16;

/// A second, and fifty times what a page takes that nobody helps with: a pass that
/// takes longer is one of a pool whose workers wait for each other's time slices.
fn longest_pass(pages: u64) -> Nanos {
    Nanos::from_secs(1) + Nanos::from_us(10).times(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_pool::LockKind;

    fn cell(batch: &str, pages: u64) -> Cell {
        Cell {
            setting: Setting::new(4, LockKind::Mcs, batch.parse().unwrap()),
            kernel: Kernel::Memset,
            area: Area {
                memory: Memory::Hot,
                pages,
            },
            bursts: None,
        }
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
        assert_eq!(pool.arrivals, rows::Arrivals::Burst);
        assert_eq!(pool.every_ns, Some(2_000_000_000));
        assert_eq!(pool.returns.as_deref(), Some("ticket"));
    }
}
