//! Workers that go through passes over the pages together: their job, the team, one of them,
//! and what they share.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use punctual_core::{Driver, Limit, Method, Nanos};
use punctual_os::event::Events;
use punctual_os::wait::Sleeper;
use punctual_os::{Tick, clock, slack, thread};
use punctual_program::Refusal;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::blocking::Pool;
use punctual_zero_pool::{Accounting, LockKind, Setting};

use crate::joined;

use super::computer::{HostComputer, HostMemory, Links};
use super::cpus::{Begun, CpuClock, Cpus, sift, skip, with_room};
use super::{Barrier, Broken, Rescue};

/// The threads of this computer that zero a memory.
#[derive(Debug)]
pub struct Team<'m> {
    memory: &'m HostMemory,
    cpu_clock: CpuClock,
    pub(crate) cpus: Cpus,
}

impl<'m> Team<'m> {
    /// On all CPUs that this process may use. Each worker has its own if there are enough, and if
    /// threads can be pinned.
    pub fn new(memory: &'m HostMemory, cpu_clock: CpuClock) -> Self {
        Self {
            memory,
            cpu_clock,
            cpus: Cpus::of_this_process(),
        }
    }

    /// Lets workers do a batch. Ends after the pass under way when the stop of
    /// the memory is requested, and that pass does not count.
    ///
    /// # Errors
    /// There can be no such pool, or not so many threads; or a page was not
    /// zeroed, or not once, which is a bug.
    pub fn work(&self, job: &Job<'_>) -> Result<Observed, Refusal> {
        let crowded = self.cpus.is_oversubscribed(job.setting.workers);
        let computer = HostComputer::new(self.memory, job.kernel, job.links)?;
        let pool = Pool::new(&computer, &job.setting, job.pages).map_err(Refusal::new)?;
        let shared = Shared {
            job: *job,
            memory: self.memory,
            computer,
            cpu_clock: self.cpu_clock,
            barrier: Barrier::new(job.setting.workers, crowded),
            pool: RwLock::new(pool),
            passes: Mutex::default(),
            events: Events::new(),
            began: clock::now(),
        };
        let cutoff = &self.memory.cutoff;
        cutoff.stop.watch(&shared.events);
        let started = self.start(&shared);
        cutoff.set_late(false);
        let (tallies, late) = started?;
        shared.observed(tallies, late)
    }

    fn start(&self, shared: &Shared<'_>) -> Result<(Vec<Tally>, bool), Refusal> {
        let workers = shared.job.setting.workers;
        let alone = self.cpus.pinned && !self.cpus.is_oversubscribed(workers);
        std::thread::scope(|scope| {
            let (working, all_done) = channel::<Infallible>();
            let mut threads = Vec::with_capacity(workers);
            for number in 0..workers {
                let cpu = alone.then(|| self.cpus.order[number]);
                let working = working.clone();
                let work = move || {
                    // Gone when the worker is.
                    let _working = working;
                    let _rescue = Rescue(&shared.barrier);
                    Worker { number, shared }.work(cpu)
                };
                match std::thread::Builder::new().spawn_scoped(scope, work) {
                    Ok(thread) => threads.push(thread),
                    Err(why) => {
                        shared.barrier.break_up();
                        return Err(Refusal::new(format!(
                            "cannot start {workers} workers: {why}; ask for fewer"
                        )));
                    }
                }
            }
            drop(working);
            let limit = shared.job.most().into();
            let late = all_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            self.memory.cutoff.set_late(late);
            Ok((threads.into_iter().map(joined).collect(), late))
        })
    }
}

/// How long before a burst is due a worker sleeps with a timer: more than the tick
/// of any system, and little to wait for.
const REST: Nanos = Nanos::from_ms(20);

/// A worker, and what it shares with the others.
#[derive(Debug)]
struct Worker<'s, 'a> {
    number: usize,
    shared: &'s Shared<'a>,
}

impl Worker<'_, '_> {
    /// Does its part of a batch, on this CPU if there is one.
    fn work(&self, cpu: Option<usize>) -> Tally {
        if let Some(cpu) = cpu {
            // It runs somewhere if it cannot run there.
            let _ = thread::pin(cpu);
        }
        let job = &self.shared.job;
        let mut tally = Tally {
            accounting: with_room(job.every, job.room),
            ..Tally::default()
        };
        let mut sleeper = Sleeper::with_events(self.shared.events.clone());
        let (mut number, mut skipped) = (0, 0);
        while let Ok(true) = self.pass(&mut tally, &mut sleeper) {
            number += 1;
            let skip = skip(tally.accounting.acquisitions, number, job.every);
            tally.accounting.acquisitions += skip;
            skipped += skip;
        }
        tally.accounting.acquisitions -= skipped;
        tally
    }

    /// Whether there is another one.
    fn pass(&self, tally: &mut Tally, sleeper: &mut Sleeper) -> Result<bool, Broken> {
        let shared = self.shared;
        let share = self.share();
        // The pages it dirties are in the caches of its CPU, or on their way out.
        self.in_parts(&share, |part| shared.memory.mapping.dirty(part));
        let kept = tally.accounting.samples.len();
        let before = Accounting {
            samples: Vec::new(),
            ..tally.accounting
        };
        let pool = shared.pool.read().unwrap_or_else(PoisonError::into_inner);
        shared.barrier.wait()?;
        let due = self.due()?;

        let begun = self.wait_for(due, sleeper);
        let late = due.map_or(Nanos::ZERO, |due| clock::now().since(due));
        pool.work(self.number, &mut tally.accounting);
        let done = shared.cpu_clock.end(&begun);

        drop(pool);
        shared.passes().include(begun.at, done.at);
        shared.barrier.wait()?;
        self.check(&share);
        // Then the check finds any page that was left dirty.
        shared.barrier.wait()?;
        if self.number == 0 {
            shared.judge();
        }
        shared.barrier.wait()?;
        let (counts, go_on) = shared.passes().verdict;
        if counts {
            let elapsed = done.at.since(due.unwrap_or(begun.at));
            tally.cpu += done.cpu;
            tally.elapsed += elapsed;
            let off_cpu = elapsed - done.cpu - late;
            let can_park = can_park(&shared.job.setting);
            sift(&mut tally.accounting, kept, off_cpu, can_park);
        } else {
            let mut samples = std::mem::take(&mut tally.accounting.samples);
            samples.truncate(kept);
            tally.accounting = Accounting { samples, ..before };
        }
        Ok(go_on)
    }

    /// Its part of the pages, while they are not zeroed but dirtied and checked.
    fn share(&self) -> Range<usize> {
        let job = &self.shared.job;
        let (pages, workers) = (job.pages as usize, job.setting.workers);
        let begin = |worker: usize| pages * worker / workers;
        begin(self.number)..begin(self.number + 1)
    }

    /// When the next burst is due, as one of the workers says for all.
    fn due(&self) -> Result<Option<Tick>, Broken> {
        let Some(Bursts { every, .. }) = self.shared.job.bursts else {
            return Ok(None);
        };
        if self.number == 0 {
            let began = self.shared.began;
            // Soon enough for all to be asleep by then.
            let passed = clock::now().since(began) + REST;
            let bursts = passed.as_ns() / every.as_ns() + 1;
            let due = began + every.times(bursts);
            self.shared.passes().due = Some(due);
        }
        self.shared.barrier.wait()?;
        Ok(self.shared.passes().due)
    }

    /// Sleeps until a burst is due. The user's stop ends most of the sleep at once; the rest uses
    /// the system's most accurate timer. The burst begins with that rest, so that the wake-up is
    /// charged where it can be.
    fn wait_for(&self, due: Option<Tick>, sleeper: &mut Sleeper) -> Begun {
        let Some(due) = due else {
            return self.shared.cpu_clock.begin();
        };
        let rest = REST + slack::current().unwrap_or_default();
        let left = due.since(clock::now());
        if left > rest {
            self.shared.events.sleep(left - rest);
        }
        let begun = self.shared.cpu_clock.begin();
        while clock::now() < due && !self.shared.events.is_closed() {
            sleeper.block(Method::Timer, Limit::Until(due), None);
        }
        self.shared.cpu_clock.after_sleep(begun)
    }

    fn check(&self, share: &Range<usize>) {
        let shared = self.shared;
        self.in_parts(share, |part| {
            if let Some(page) = shared.memory.mapping.first_dirty(part) {
                let job = &shared.job;
                let failure = || {
                    format!(
                        "page {page} of {} was left dirty by {} workers with lock {}, batch {} and {}: please report this",
                        job.pages,
                        job.setting.workers,
                        job.setting.lock,
                        job.setting.batch,
                        job.kernel
                    )
                };
                shared.passes().failure.get_or_insert_with(failure);
            }
        });
    }

    /// Goes through its pages, unless the pass is cut off. Then the result does not count, and
    /// perhaps no page was zeroed.
    fn in_parts(&self, share: &Range<usize>, go: impl Fn(Range<usize>)) {
        /// 16 MiB: some milliseconds.
        const PART: usize = 1 << 12;
        for begin in share.clone().step_by(PART) {
            if self.shared.memory.cutoff.is_on() {
                return;
            }
            go(begin..(begin + PART).min(share.end));
        }
    }
}

/// The work of a batch of passes. In each pass all pages are zeroed once, after they were filled
/// with something else.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// How they do it together.
    pub setting: Setting,
    /// How each does it.
    pub kernel: Kernel,
    /// The pages of a pass, the first of the memory.
    pub pages: u64,
    /// The list that they are taken from, if there is one.
    pub links: Option<&'a Links>,
    /// The bursts in which the pages come, which wake the workers, who sleep; else they are all
    /// there, and all workers go on when all are ready.
    pub bursts: Option<Bursts>,
    /// Without bursts passes follow each other for so long, with what is not measured of them;
    /// there is one at least.
    pub length: Nanos,
    /// One take in so many is timed.
    pub every: u32,
    /// How many of these are kept by each worker.
    pub room: usize,
    /// A pass that takes longer ends as soon as it can, and does not count.
    pub longest: Nanos,
}

/// Pages that come all at once, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// The time from one to the next.
    pub every: Nanos,
    /// How many there are in a round.
    pub times: u32,
}

/// The result of a batch.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// How many passes count.
    pub passes: u32,
    /// From the first worker's begin, or from when a burst was due, to the last
    /// one's end: the sum over the passes.
    pub wall: Nanos,
    /// The CPU time of all workers together.
    pub cpu: Nanos,
    /// From each worker's begin to its end, added up.
    pub elapsed: Nanos,
    /// The accounts of each worker, over all passes that count.
    pub accounting: Vec<Accounting>,
    /// Whether a pass was given up because it took too long.
    pub late: bool,
}

#[derive(Debug, Default)]
struct Tally {
    cpu: Nanos,
    elapsed: Nanos,
    accounting: Accounting,
}

impl Job<'_> {
    fn most(&self) -> Nanos {
        match self.bursts {
            None => self.length + self.longest,
            // Each burst is at the next multiple of the time, which may be one
            // further on.
            Some(Bursts { every, times }) => {
                every.times(u64::from(times) + 1) + self.longest.times(u64::from(times))
            }
        }
    }
}

/// Whether a worker that waits for a lock of a pool may be off the CPU.
pub(crate) fn can_park(setting: &Setting) -> bool {
    setting.locks().any(LockKind::blocks)
}

#[derive(Debug)]
struct Shared<'a> {
    job: Job<'a>,
    memory: &'a HostMemory,
    computer: HostComputer<'a>,
    cpu_clock: CpuClock,
    barrier: Barrier,
    /// That of the pass under way.
    pool: RwLock<Pool<HostComputer<'a>>>,
    passes: Mutex<Passes>,
    events: Events,
    began: Tick,
}

/// The pass under way, and those that count.
#[derive(Debug, Default)]
struct Passes {
    /// When it is due, if it is a burst.
    due: Option<Tick>,
    /// When the first worker began, and the last one ended.
    span: Option<(Tick, Tick)>,
    /// Something that must not happen has happened.
    failure: Option<String>,
    /// Whether it counts, and whether there is another one.
    verdict: (bool, bool),
    count: u32,
    wall: Nanos,
}

impl Passes {
    fn include(&mut self, began: Tick, ended: Tick) {
        let (first, last) = self.span.unwrap_or((began, ended));
        self.span = Some((first.min(began), last.max(ended)));
    }
}

impl Shared<'_> {
    fn passes(&self) -> MutexGuard<'_, Passes> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of one worker for all, when all have ended: what becomes of the pass. Puts the pool
    /// of the next one in place.
    fn judge(&self) {
        let mut passes = self.passes();
        let span = passes.span.take();
        let counts = !self.memory.cutoff.is_on() && passes.failure.is_none();
        if let Some((began, ended)) = span.filter(|_| counts) {
            passes.count += 1;
            let began = passes.due.unwrap_or(began);
            passes.wall += ended.since(began);
        }
        let enough = match self.job.bursts {
            None => clock::now().since(self.began) >= self.job.length,
            Some(Bursts { times, .. }) => passes.count >= times,
        };
        let go_on = counts && !enough;
        if go_on {
            let pool = Pool::new(&self.computer, &self.job.setting, self.job.pages);
            let pool = pool.expect("it could be made before");
            *self.pool.write().unwrap_or_else(PoisonError::into_inner) = pool;
        }
        passes.verdict = (counts, go_on);
    }

    fn observed(self, tallies: Vec<Tally>, late: bool) -> Result<Observed, Refusal> {
        let passes = self.passes.into_inner();
        let passes = passes.unwrap_or_else(PoisonError::into_inner);
        if let Some(what) = passes.failure {
            return Err(Refusal::new(what));
        }
        let mut observed = Observed {
            passes: passes.count,
            wall: passes.wall,
            late,
            ..Observed::default()
        };
        for tally in tallies {
            observed.cpu += tally.cpu;
            observed.elapsed += tally.elapsed;
            observed.accounting.push(tally.accounting);
        }
        let zeroed: u64 = observed.accounting.iter().map(|kept| kept.pages).sum();
        let wanted = self.job.pages * u64::from(passes.count);
        if zeroed != wanted {
            return Err(Refusal::new(format!(
                "{zeroed} pages were zeroed instead of {wanted}: please report this"
            )));
        }
        Ok(observed)
    }
}
