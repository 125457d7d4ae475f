//! Threads that measure something together.

use punctual_os::thread;

use crate::host::{Barrier, Cpus, Rescue};

/// The CPUs to measure on: those that a team uses, in the same order.
#[derive(Clone, Debug)]
pub(super) struct Workers(Cpus);

/// One of several threads that do something at the same time.
#[derive(Debug)]
pub(super) struct Member<'b> {
    /// Its number, from 0.
    pub(super) number: usize,
    barrier: &'b Barrier,
}

impl Member<'_> {
    /// Waits for all others, unless one of them has left.
    pub(super) fn meet(&self) {
        // Whoever panics leaves too, and that ends the team.
        let _ = self.barrier.wait();
    }

    /// Nobody waits for anybody any more.
    pub(super) fn leave(&self) {
        self.barrier.break_up();
    }
}

impl Workers {
    /// The CPUs of this process.
    pub(super) fn new() -> Self {
        Self(Cpus::of_this_process())
    }

    /// How many CPUs may be busy all the time.
    pub(super) fn cpus(&self) -> usize {
        self.0.at_once
    }

    /// Runs `work` on the CPU of each of these workers at the same time, and
    /// gives what comes of it.
    pub(super) fn together<T: Send>(
        &self,
        workers: &[usize],
        work: impl Fn(&Member<'_>) -> T + Sync,
    ) -> Vec<T> {
        let barrier = Barrier::new(workers.len(), false);
        std::thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter()
                .enumerate()
                .map(|(number, &worker)| {
                    let cpu = self.0.pinned.then(|| self.0.order[worker]);
                    let (barrier, work) = (&barrier, &work);
                    scope.spawn(move || {
                        if let Some(cpu) = cpu {
                            // It runs somewhere if it cannot run there.
                            let _ = thread::pin(cpu);
                        }
                        let _rescue = Rescue(barrier);
                        let member = Member { number, barrier };
                        member.meet();
                        work(&member)
                    })
                })
                .collect();
            let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
            let done = joined
                .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            done.collect()
        })
    }

    /// Runs `work` on the CPU of the first worker.
    pub(super) fn alone<T: Send>(&self, work: impl Fn() -> T + Sync) -> T {
        let mut done = self.together(&[0], |_| work());
        done.pop().expect("one thread is one result")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn everybody_comes_before_anybody_goes_on() {
        let came = AtomicUsize::new(0);
        let team = Workers::new();
        // On one CPU, if there is only one.
        let workers = [0, team.cpus() - 1];
        let seen = team.together(&workers, |member| {
            came.fetch_add(1, Relaxed);
            member.meet();
            (member.number, came.load(Relaxed))
        });
        assert_eq!(seen, [(0, 2), (1, 2)]);
        assert_eq!(team.alone(|| 7), 7);
    }
}
