//! Who runs when there are more threads than CPUs.
//!
//! | scheduler | what it is | evidence |
//! |---|---|---|
//! | [`Quantum`] | priorities, and turns of a quantum among equals | Windows Internals; XNU, `osfmk/kern/sched_prim.c` |
//! | [`Eevdf`] | a fair share each, the earliest virtual deadline first | Linux, `kernel/sched/fair.c` |
//!
//! A scheduler keeps the threads that are ready and wait for a CPU. The world
//! tells it who runs where and for how long, and asks it who is next.

mod eevdf;
mod quantum;

use eevdf::Eevdf;
use punctual_program::setting::Priority;
use quantum::Quantum;

use crate::clock::Time;
use crate::model::Scheduling;
use crate::rules::ThreadId;

/// What a scheduler must know of a thread to place it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) thread: ThreadId,
    pub(crate) priority: Priority,
    /// The CPU it ran on last, or is to run on.
    pub(crate) cpu: usize,
    /// The only CPU it may run on.
    pub(crate) pinned: Option<usize>,
}

impl Candidate {
    pub(crate) fn may_run_on(&self, cpu: usize) -> bool {
        self.pinned.is_none_or(|pinned| pinned == cpu)
    }
}

/// The ready threads of all CPUs.
#[derive(Debug)]
pub(crate) enum Scheduler {
    /// Each thread has a CPU of its own, and nobody is ever ready in vain.
    Unlimited,
    Quantum(Box<Quantum>),
    Eevdf(Eevdf),
}

impl Scheduler {
    pub(crate) fn new(scheduling: Scheduling, cpus: usize) -> Self {
        match scheduling {
            Scheduling::Unlimited => Self::Unlimited,
            Scheduling::Quantum { length, turns } => {
                Self::Quantum(Box::new(Quantum::new(length, turns, cpus)))
            }
            Scheduling::Eevdf { slice, tick } => Self::Eevdf(Eevdf::new(slice, tick, cpus)),
        }
    }

    /// A thread that was asleep, or is new, is ready, and no CPU is free for
    /// it. Returns the CPU whose thread it is to run instead of, if any; then
    /// it is not queued.
    pub(crate) fn woken(&mut self, candidate: Candidate) -> Option<usize> {
        match self {
            Self::Unlimited => None,
            Self::Quantum(scheduler) => scheduler.woken(candidate),
            Self::Eevdf(scheduler) => scheduler.woken(candidate),
        }
    }

    /// The thread that runs on `cpu` lost it and stays ready.
    pub(crate) fn requeue(&mut self, candidate: Candidate) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.requeue(candidate),
            Self::Eevdf(scheduler) => scheduler.requeue(candidate),
        }
    }

    /// Takes the thread that is to run on `cpu`, which is free, out of the
    /// queue.
    pub(crate) fn next(&mut self, cpu: usize) -> Option<ThreadId> {
        match self {
            Self::Unlimited => None,
            Self::Quantum(scheduler) => scheduler.next(cpu),
            Self::Eevdf(scheduler) => scheduler.next(cpu),
        }
    }

    /// A thread that was not queued begins to run on `cpu`.
    pub(crate) fn runs(&mut self, candidate: Candidate, cpu: usize) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.runs(candidate, cpu),
            Self::Eevdf(scheduler) => scheduler.runs(candidate, cpu),
        }
    }

    /// The thread that runs on its CPU has another priority, or is pinned to it
    /// now. Whether somebody else matters more.
    pub(crate) fn changed(&mut self, candidate: Candidate) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.changed(candidate),
            Self::Eevdf(scheduler) => scheduler.changed(candidate),
        }
    }

    /// A queued thread that is to move from `cpu`, which is crowded, to another
    /// CPU, and that CPU; it is queued there now.
    pub(crate) fn balance(&mut self, cpu: usize) -> Option<(ThreadId, usize)> {
        match self {
            Self::Unlimited | Self::Quantum(_) => None,
            Self::Eevdf(scheduler) => scheduler.balance(cpu),
        }
    }

    /// The thread of `cpu` has run for `length`.
    pub(crate) fn ran(&mut self, cpu: usize, length: Time) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.ran(cpu, length),
            Self::Eevdf(scheduler) => scheduler.ran(cpu, length),
        }
    }

    /// The thread of `cpu` gave it up: it sleeps, or has ended.
    pub(crate) fn left(&mut self, cpu: usize) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.left(cpu),
            Self::Eevdf(scheduler) => scheduler.left(cpu),
        }
    }

    /// A thread that was queued is no longer ready.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.remove(thread),
            Self::Eevdf(scheduler) => scheduler.remove(thread),
        }
    }

    /// The thread of `cpu` offers it to the others. Whether one takes it.
    pub(crate) fn yields(&mut self, cpu: usize) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.yields(cpu),
            Self::Eevdf(scheduler) => scheduler.yields(cpu),
        }
    }

    /// The turn of the thread of `cpu` may be over. Whether another runs now.
    pub(crate) fn turn_is_over(&mut self, cpu: usize) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.turn_is_over(cpu),
            Self::Eevdf(scheduler) => scheduler.turn_is_over(cpu),
        }
    }

    /// Whether anybody waits for `cpu`, perhaps.
    pub(crate) fn is_crowded(&self, cpu: usize) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.is_crowded(),
            Self::Eevdf(scheduler) => scheduler.is_crowded(cpu),
        }
    }

    /// How long the thread of `cpu` may still run before
    /// [`turn_is_over`](Self::turn_is_over) is to be asked; `None` if nobody
    /// waits for that.
    pub(crate) fn turn_left(&self, cpu: usize) -> Option<Time> {
        match self {
            Self::Unlimited => None,
            Self::Quantum(scheduler) => scheduler.turn_left(cpu),
            Self::Eevdf(scheduler) => scheduler.turn_left(cpu),
        }
    }

    /// When a turn that is over ends.
    pub(crate) fn ends_at(&self) -> TurnEnds {
        match self {
            Self::Unlimited => TurnEnds::Anywhere,
            Self::Quantum(scheduler) => scheduler.ends_at(),
            Self::Eevdf(scheduler) => scheduler.ends_at(),
        }
    }
}

/// When a turn that is over ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnEnds {
    /// At once.
    Anywhere,
    /// At the next tick of the timer rule.
    AtTicksOfTheRule,
    /// At the next multiple of this.
    AtMultiplesOf(Time),
}
