//! Workers that go through passes over the pages together: their job, the team, and one
//! of them, and what they share.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::Ordering::{Relaxed, *};
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use punctual_core::{Carrier, Limit, Method, Nanos};
use punctual_os::event::Events;
use punctual_os::wait::Sleeper;
use punctual_os::{Tick, clock, slack, thread};
use punctual_program::Refusal;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::blocking::Pool;
use punctual_zero_pool::{Accounting, LockKind, Setting};

use super::accounting::{Mark, Sifted, with_room};
use super::barrier::{Barrier, Broken};
use super::cpu_clock::Begun;
use super::{CpuClock, Cpus, HostComputer, HostMemory, Links, Rescue, accounting};

/// The threads of this computer that zero a memory.
#[derive(Debug)]
pub struct Team<'m> {
    memory: &'m HostMemory,
    cpu_clock: CpuClock,
    cpus: Cpus,
}

impl<'m> Team<'m> {
    /// On all CPUs that this process may use, with each worker on its own where
    /// there are enough, and where threads can be kept on a CPU.
    pub fn new(memory: &'m HostMemory, cpu_clock: CpuClock) -> Self {
        Self {
            memory,
            cpu_clock,
            cpus: Cpus::of_this_process(),
        }
    }

    /// The CPUs in the order in which they get workers.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus.order
    }

    /// Whether threads can be kept on a CPU here.
    pub fn is_pinned(&self) -> bool {
        self.cpus.pinned
    }

    /// Whether so many workers have to share CPUs.
    pub fn is_oversubscribed(&self, workers: usize) -> bool {
        self.cpus.is_oversubscribed(workers)
    }

    /// Lets workers do a batch. Ends after the pass under way when the stop of
    /// the memory is requested, and that pass does not count.
    ///
    /// # Errors
    /// There can be no such pool, or not so many threads; or a page was not
    /// zeroed, or not once, which is a bug.
    pub fn work(&self, job: &Job<'_>) -> Result<Observed, Refusal> {
        let crowded = self.is_oversubscribed(job.setting.workers);
        let shared = Shared::new(job, self.memory, self.cpu_clock, crowded)?;
        let cutoff = self.memory.cutoff();
        cutoff.stop().watch(&shared.events);
        let (tallies, late) = self.start(&shared)?;
        cutoff.set_late(false);
        shared.observed(tallies, late)
    }

    /// Starts the workers and waits for them.
    fn start(&self, shared: &Shared<'_>) -> Result<(Vec<Tally>, bool), Refusal> {
        let workers = shared.job.setting.workers;
        let alone = self.cpus.pinned && !self.is_oversubscribed(workers);
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
            self.memory.cutoff().set_late(late);
            let tallies = threads.into_iter().map(|thread| {
                let joined = thread.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            Ok((tallies.collect(), late))
        })
    }
}

/// How long before a burst is due a worker sleeps with a timer: more than the tick
/// of any system, and little to wait for.
const REST: Nanos = Nanos::from_ms(20);

/// A worker, and what it shares with the others.
#[derive(Debug)]
pub(super) struct Worker<'s, 'a> {
    pub(super) number: usize,
    pub(super) shared: &'s Shared<'a>,
}

impl Worker<'_, '_> {
    /// Does its part of a batch, on this CPU if there is one.
    pub(super) fn work(&self, cpu: Option<usize>) -> Tally {
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
            let skip = accounting::skip(tally.accounting.acquisitions, number, job.every);
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
        self.dirty(&share);
        let mark = Mark::of(&tally.accounting);
        let pool = shared.pool.read().unwrap_or_else(PoisonError::into_inner);
        shared.barrier.wait()?;
        let due = self.due()?;

        let begun = self.wait_for(due, sleeper);
        let late = due.map_or(Nanos::ZERO, |due| clock::now().since(due));
        pool.work(self.number, &mut tally.accounting);
        let done = shared.cpu_clock.end(&begun);

        shared.slots[self.number].set(begun.at, done.at);
        drop(pool);
        shared.barrier.wait()?;
        self.check(&share);
        // So that a page left dirty is known to the one who judges.
        shared.barrier.wait()?;
        if self.number == 0 {
            shared.judge(due);
        }
        shared.barrier.wait()?;
        let verdict = shared.verdict();
        if verdict.counts {
            let elapsed = done.at.since(due.unwrap_or(begun.at));
            tally.cpu += done.cpu;
            tally.elapsed += elapsed;
            let sifted = Sifted {
                first: mark.samples(),
                off_cpu: elapsed - done.cpu - late,
                can_park: can_park(&shared.job.setting),
            };
            sifted.sift(&mut tally.accounting);
        } else {
            mark.restore(&mut tally.accounting);
        }
        Ok(verdict.go_on)
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
        let Arrivals::Burst { every, .. } = self.shared.job.arrivals else {
            return Ok(None);
        };
        if self.number == 0 {
            let began = self.shared.began;
            // Soon enough for all to be asleep by then.
            let passed = clock::now().since(began) + REST;
            let bursts = passed.as_ns() / every.as_ns() + 1;
            let due = began + every.times(bursts);
            self.shared.due.store(due.as_ns(), Relaxed);
        }
        self.shared.barrier.wait()?;
        Ok(Some(Tick::from_ns(self.shared.due.load(Relaxed))))
    }

    /// Sleeps until a burst is due: most of it in a way that the user's stop ends
    /// at once, and the rest with the timer of the system that is the least late.
    /// What comes next begins with that rest, so that the wake-up is charged where
    /// it can be.
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

    fn dirty(&self, share: &Range<usize>) {
        self.in_parts(share, |part| self.shared.memory.mapping().dirty(part));
    }

    fn check(&self, share: &Range<usize>) {
        let shared = self.shared;
        self.in_parts(share, |part| {
            if let Some(page) = shared.memory.mapping().first_dirty(part) {
                let job = &shared.job;
                shared.fail(format!(
                    "page {page} of {} was left dirty by {} workers with lock {}, batch {} and {}: please report this",
                    job.pages,
                    job.setting.workers,
                    job.setting.lock,
                    job.setting.batch,
                    job.kernel
                ));
            }
        });
    }

    /// Goes through its pages, unless there is cutoff: then what is done does not
    /// count, and it may be that nobody zeroed anything.
    fn in_parts(&self, share: &Range<usize>, go: impl Fn(Range<usize>)) {
        /// 16 MiB: some milliseconds.
        const PART: usize = 1 << 12;
        for begin in share.clone().step_by(PART) {
            if self.shared.memory.cutoff().is_on() {
                return;
            }
            go(begin..(begin + PART).min(share.end));
        }
    }
}

/// What workers do in a batch of passes. In each pass all pages are zeroed once,
/// after they were filled with something else.
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
    /// What begins a pass.
    pub arrivals: Arrivals,
    /// One take in so many is timed.
    pub every: u32,
    /// How many of these are kept by each worker.
    pub room: usize,
    /// A pass that takes longer ends as soon as it can, and does not count.
    pub longest: Nanos,
}

/// What begins a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// All pages are there, and all workers go on when all are ready; again and
    /// again for so long, but once at least.
    Closed {
        /// How long, with all that is not measured.
        length: Nanos,
    },
    /// All pages are there at multiples of a time, and wake the workers, who
    /// sleep.
    Burst {
        /// The time from one to the next.
        every: Nanos,
        /// How often.
        times: u32,
    },
}

/// What came of a batch.
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
    /// What each worker kept, over all passes that count.
    pub accounting: Vec<Accounting>,
    /// Whether a pass was given up because it took too long.
    pub late: bool,
}

/// What a worker adds up.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) cpu: Nanos,
    pub(super) elapsed: Nanos,
    pub(super) accounting: Accounting,
}

/// When a worker began and ended, for the one who adds up the passes. On a cache line
/// of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    began: AtomicU64,
    ended: AtomicU64,
}

impl Slot {
    pub(super) fn began(&self) -> Tick {
        Tick::from_ns(self.began.load(Relaxed))
    }

    pub(super) fn ended(&self) -> Tick {
        Tick::from_ns(self.ended.load(Relaxed))
    }

    // The barrier after it shows it to the others.
    pub(super) fn set(&self, began: Tick, ended: Tick) {
        self.began.store(began.as_ns(), Relaxed);
        self.ended.store(ended.as_ns(), Relaxed);
    }
}

impl Job<'_> {
    /// The most that a batch may take.
    pub(super) fn most(&self) -> Nanos {
        match self.arrivals {
            Arrivals::Closed { length } => length + self.longest,
            // Each burst is at the next multiple of the time, which may be one
            // further on.
            Arrivals::Burst { every, times } => {
                every.times(u64::from(times) + 1) + self.longest.times(u64::from(times))
            }
        }
    }
}

/// Whether whoever waits for a lock of a pool may be off the CPU.
pub(crate) fn can_park(setting: &Setting) -> bool {
    let is_mutex = |lock| lock == LockKind::Mutex;
    is_mutex(setting.lock) || setting.returns.is_some_and(is_mutex)
}

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
