//! Workers that go through passes over the pages together.

use std::convert::Infallible;
use std::sync::mpsc::{RecvTimeoutError, channel};

use punctual_program::Refusal;

use super::job::{Job, Observed, Tally};
use super::shared::Shared;
use super::worker::Worker;
use super::{CpuClock, Cpus, HostMemory, Rescue};

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
