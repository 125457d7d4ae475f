//! What the workers of a batch share.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use punctual_core::Nanos;
use punctual_os::event::Events;
use punctual_os::{Tick, clock};
use punctual_program::Refusal;
use punctual_zero_pool::Accounting;
use punctual_zero_pool::blocking::Pool;

use super::barrier::Barrier;
use super::team::{Arrivals, Job, Observed, Slot, Tally};
use super::{CpuClock, HostComputer, HostMemory};

/// What the workers of a batch share.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    pub(super) job: Job<'a>,
    pub(super) memory: &'a HostMemory,
    pub(super) computer: HostComputer<'a>,
    pub(super) cpu_clock: CpuClock,
    pub(super) barrier: Barrier,
    /// That of the pass under way.
    pub(super) pool: RwLock<Pool<HostComputer<'a>>>,
    /// When each worker began and ended in the pass under way.
    pub(super) slots: Vec<Slot>,
    verdict: AtomicU8,
    /// When the burst under way is due, in nanoseconds of the clock.
    pub(super) due: AtomicU64,
    sum: Mutex<Sum>,
    failure: Mutex<Option<String>>,
    pub(super) events: Events,
    pub(super) began: Tick,
}

/// The passes that count.
#[derive(Debug, Default)]
struct Sum {
    passes: u32,
    wall: Nanos,
}

/// What becomes of the pass that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// Whether it counts.
    pub(super) counts: bool,
    /// Whether there is another one.
    pub(super) go_on: bool,
}

const COUNTS: u8 = 1;
const GOES_ON: u8 = 2;

impl<'a> Shared<'a> {
    /// Before the first pass of a job. In a `crowded` team workers share CPUs.
    ///
    /// # Errors
    /// There can be no such pool.
    pub(super) fn new(
        job: &Job<'a>,
        memory: &'a HostMemory,
        cpu_clock: CpuClock,
        crowded: bool,
    ) -> Result<Self, Refusal> {
        let computer = HostComputer::new(memory, job.kernel, job.links)
            .map_err(|why| Refusal::new(why.to_string()))?;
        let pool = Pool::new(&computer, &job.setting, job.pages).map_err(Refusal::new)?;
        let workers = job.setting.workers;
        Ok(Self {
            job: *job,
            memory,
            computer,
            cpu_clock,
            barrier: Barrier::new(workers, crowded),
            pool: RwLock::new(pool),
            slots: (0..workers).map(|_| Slot::default()).collect(),
            verdict: AtomicU8::new(0),
            due: AtomicU64::new(0),
            sum: Mutex::default(),
            failure: Mutex::default(),
            events: Events::new(),
            began: clock::now(),
        })
    }

    /// Of one worker for all, when all have ended: what becomes of the pass that
    /// was `due` then, if it was a burst. Puts the pool of the next one in place.
    pub(super) fn judge(&self, due: Option<Tick>) {
        let cutoff = self.memory.cutoff();
        let failed = self.lock(&self.failure).is_some();
        let counts = !cutoff.is_on() && !failed;
        let mut sum = self.lock(&self.sum);
        if counts {
            sum.passes += 1;
            sum.wall += self.wall(due);
        }
        let enough = match self.job.arrivals {
            Arrivals::Closed { length } => clock::now().since(self.began) >= length,
            Arrivals::Burst { times, .. } => sum.passes >= times,
        };
        let go_on = counts && !enough;
        if go_on {
            let pool = Pool::new(&self.computer, &self.job.setting, self.job.pages);
            let pool = pool.expect("it could be made before");
            *self.pool.write().unwrap_or_else(PoisonError::into_inner) = pool;
        }
        let verdict = if counts { COUNTS } else { 0 } | if go_on { GOES_ON } else { 0 };
        self.verdict.store(verdict, Release);
    }

    /// What [`judge`](Self::judge) said.
    pub(super) fn verdict(&self) -> Verdict {
        let verdict = self.verdict.load(Acquire);
        Verdict {
            counts: verdict & COUNTS != 0,
            go_on: verdict & GOES_ON != 0,
        }
    }

    fn wall(&self, due: Option<Tick>) -> Nanos {
        let began = || self.slots.iter().map(Slot::began).min();
        let ended = self.slots.iter().map(Slot::ended).max();
        let length = due.or_else(began).zip(ended);
        length.map_or(Nanos::ZERO, |(began, ended)| ended.since(began))
    }

    /// Something that must not happen has happened.
    pub(super) fn fail(&self, what: String) {
        self.lock(&self.failure).get_or_insert(what);
    }

    fn lock<'l, T>(&self, mutex: &'l Mutex<T>) -> MutexGuard<'l, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of all of it.
    pub(super) fn observed(self, tallies: Vec<Tally>, late: bool) -> Result<Observed, Refusal> {
        let inner = |failure: Mutex<Option<String>>| failure.into_inner();
        if let Some(what) = inner(self.failure).unwrap_or_else(PoisonError::into_inner) {
            return Err(Refusal::new(what));
        }
        let sum = self.sum.into_inner();
        let Sum { passes, wall } = sum.unwrap_or_else(PoisonError::into_inner);
        let total = |of: fn(&Tally) -> Nanos| {
            tallies
                .iter()
                .map(of)
                .fold(Nanos::ZERO, |sum, part| sum + part)
        };
        let (cpu, elapsed) = (total(|t| t.cpu), total(|t| t.elapsed));
        let accounting: Vec<Accounting> =
            tallies.into_iter().map(|tally| tally.accounting).collect();
        let zeroed: u64 = accounting.iter().map(|accounting| accounting.pages).sum();
        let wanted = self.job.pages * u64::from(passes);
        if zeroed != wanted {
            return Err(Refusal::new(format!(
                "{zeroed} pages were zeroed instead of {wanted}: please report this"
            )));
        }
        Ok(Observed {
            passes,
            wall,
            cpu,
            elapsed,
            accounting,
            late,
        })
    }
}
