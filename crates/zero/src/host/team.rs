//! Workers that go through passes over the pages together.

use std::convert::Infallible;
use std::sync::mpsc::{RecvTimeoutError, channel};

use punctual_core::Nanos;
use punctual_program::Refusal;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Books, LockKind, Setting};

use super::shared::Shared;
use super::worker::{Tally, Worker};
use super::{CpuClock, Cpus, HostMemory, Links, Rescue};

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
    pub books: Vec<Books>,
    /// Whether a pass was given up because it took too long.
    pub late: bool,
}

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
        let hurry = self.memory.hurry();
        hurry.stop().watch(&shared.events);
        let (tallies, late) = self.start(&shared)?;
        hurry.set_late(false);
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
            self.memory.hurry().set_late(late);
            let tallies = threads.into_iter().map(|thread| {
                let joined = thread.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            Ok((tallies.collect(), late))
        })
    }
}

impl Job<'_> {
    /// The most that a batch may take.
    fn most(&self) -> Nanos {
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
