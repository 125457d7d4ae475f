//! The schedulers: which thread runs when there are more threads than CPUs.
//!
//! | scheduler | what it is | evidence |
//! |---|---|---|
//! | [`Quantum`] | priorities, and turns of a quantum among equals | Windows Internals; XNU, `osfmk/kern/sched_prim.c` |
//! | [`Fair`] | a fair share each: the earliest virtual deadline first, or the least runtime | Linux, `kernel/sched/fair.c` |
//!
//! A scheduler keeps the threads that are ready and wait for a CPU. The world
//! tells it who runs where and for how long, and asks it who is next.

mod fair;
mod quantum;

use fair::Fair;
pub(crate) use fair::{GroupId, nice};
use punctual_core::Reason;
use punctual_program::setting::{Priority, Reservation};
use punctual_rules::{ThreadId, Time};
use quantum::Quantum;

use crate::model::{Quota, Scheduling};

/// The facts of a thread that a scheduler needs to place it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) thread: ThreadId,
    pub(crate) priority: Priority,
    pub(crate) share: Share,
    /// Whether the CPU it arrives at is the one that woke it.
    pub(crate) is_woken_here: bool,
    /// The end of its last wait.
    pub(crate) reason: Reason,
    /// Whether the user works with a window of its process.
    pub(crate) is_in_foreground: bool,
    /// The CPU it ran on last, or is to run on.
    pub(crate) cpu: usize,
    /// The only CPU it may run on.
    pub(crate) pinned: Option<usize>,
    /// If there is none, the first that it may.
    pub(crate) from: usize,
}

/// A thread whose timer ended on the CPU that it ran on, for tests.
#[cfg(test)]
fn candidate(thread: ThreadId, priority: Priority) -> Candidate {
    Candidate {
        thread,
        priority,
        share: Share::default(),
        is_woken_here: true,
        reason: Reason::Timer,
        is_in_foreground: false,
        cpu: 0,
        pinned: None,
        from: 0,
    }
}

/// A thread's share of a CPU, where that can be said of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// Its nice value, if that is not what its priority stands for.
    pub(crate) nice: Option<i8>,
    /// Its slice, if that is not the usual.
    pub(crate) slice: Option<Time>,
    /// The group that it competes in.
    pub(crate) group: GroupId,
    pub(crate) policy: Policy,
}

/// The policy of a thread, where there are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Policy {
    /// That of most, or what its priority stands for.
    #[default]
    Other,
    Batch,
    Idle,
    /// At this priority.
    Fifo(u8),
    RoundRobin(u8),
    /// With a reservation that the scheduler knows.
    Deadline,
}

/// The fate of a thread for which no CPU is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// It runs on this CPU instead of the one that does; it is not queued.
    Takes(usize),
    /// It is queued.
    Waits,
    /// It is queued, and whether it takes this CPU is looked at in the next tick.
    WaitsForTick(usize),
    /// It is queued, as the time of its group on this CPU is used up, also for the thread there.
    Stops(usize),
}

impl Candidate {
    pub(crate) fn may_run_on(&self, cpu: usize) -> bool {
        self.pinned.map_or(cpu >= self.from, |pinned| pinned == cpu)
    }
}

/// The ready threads of all CPUs.
#[derive(Debug)]
pub(crate) enum Scheduler {
    /// Each thread has a CPU of its own, and no ready thread ever waits.
    Unlimited,
    Quantum(Box<Quantum>),
    Fair(Box<Fair>),
}

impl Scheduler {
    pub(crate) fn new(scheduling: Scheduling, cpus: usize) -> Self {
        match scheduling {
            Scheduling::Unlimited => Self::Unlimited,
            Scheduling::Quantum { length, turns } => {
                Self::Quantum(Box::new(Quantum::new(length, turns, cpus)))
            }
            Scheduling::Fair(rules) => Self::Fair(Box::new(Fair::new(rules, cpus))),
        }
    }

    fn fair(&mut self) -> Option<&mut Fair> {
        match self {
            Self::Fair(fair) => Some(fair),
            Self::Unlimited | Self::Quantum(_) => None,
        }
    }

    /// A thread that was asleep, or is new, is ready, and no CPU is free for
    /// it.
    pub(crate) fn woken(&mut self, candidate: Candidate, now: Time) -> Woken {
        match self {
            Self::Unlimited => Woken::Waits,
            Self::Quantum(scheduler) => scheduler
                .woken(candidate, now)
                .map_or(Woken::Waits, Woken::Takes),
            Self::Fair(scheduler) => scheduler.woken(candidate),
        }
    }

    /// The thread that runs on `cpu` lost it and stays ready.
    pub(crate) fn requeue(&mut self, candidate: Candidate, now: Time) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.requeue(candidate, now),
            Self::Fair(scheduler) => scheduler.requeue(candidate),
        }
    }

    /// Takes the thread that is to run on `cpu`, which is free at `now`, out of the
    /// queue.
    pub(crate) fn next(&mut self, cpu: usize, now: Time) -> Option<ThreadId> {
        match self {
            Self::Unlimited => None,
            Self::Quantum(scheduler) => scheduler.next(cpu),
            Self::Fair(scheduler) => scheduler.next(cpu, now),
        }
    }

    /// A thread that is ready at `now` may run on its CPU if that is free; if it may not, as
    /// a quota is used up, it is kept until there is time again.
    pub(crate) fn admits(&mut self, candidate: Candidate, now: Time) -> bool {
        self.fair().is_none_or(|fair| fair.admits(candidate, now))
    }

    /// When the ready threads are looked at next: threads of a throttled group have time again, or
    /// starved ones are raised. It is asked again once [`replenish`](Self::replenish) was called
    /// for the last; `None` while none is due anew.
    pub(crate) fn replenishes_at(&mut self, now: Time) -> Option<Time> {
        match self {
            Self::Unlimited => None,
            Self::Quantum(scheduler) => scheduler.looks_at(now),
            Self::Fair(scheduler) => scheduler.replenishes_at(now),
        }
    }

    /// A period begins: threads that waited for time, or have starved, may run.
    pub(crate) fn replenish(&mut self, now: Time) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.look(now),
            Self::Fair(scheduler) => scheduler.replenish(now),
        }
    }

    /// The default group of a thread.
    pub(crate) fn first_group(&mut self) -> GroupId {
        self.fair().map_or(0, |fair| fair.first_group)
    }

    /// A new group of threads inside another.
    pub(crate) fn own_group(&mut self, around: GroupId) -> GroupId {
        self.fair().map_or(around, |fair| fair.own_group(around))
    }

    /// A group has this quota from now on, or none.
    pub(crate) fn limit(&mut self, group: GroupId, quota: Option<Quota>) {
        if let Self::Fair(scheduler) = self {
            scheduler.limit(group, quota);
        }
    }

    /// A group has this weight beside others from now on, of which 100 are usual.
    pub(crate) fn weigh(&mut self, group: GroupId, weight: u16) {
        if let Self::Fair(scheduler) = self {
            scheduler.set_weight(group, weight);
        }
    }

    /// A thread reserves CPU time, or none any more. Whether it is granted; if not, it has what it had.
    pub(crate) fn reserve(&mut self, thread: ThreadId, wanted: Option<Reservation>) -> bool {
        (self.fair()).is_none_or(|fair| fair.reserve(thread, wanted))
    }

    /// Whether another thread takes the CPU of the running one, without an event of its own.
    pub(crate) fn is_taken(&self, cpu: usize) -> bool {
        match self {
            Self::Fair(scheduler) => scheduler.is_taken_by_deadline(cpu),
            Self::Unlimited | Self::Quantum(_) => false,
        }
    }

    /// A thread that is queued, asleep or running belongs to this group from now on.
    pub(crate) fn regroup(&mut self, thread: ThreadId, group: GroupId) {
        if let Self::Fair(scheduler) = self {
            scheduler.regroup(thread, group);
        }
    }

    /// A thread that was not queued begins to run on `cpu`.
    pub(crate) fn runs(&mut self, candidate: Candidate, cpu: usize) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.runs(candidate, cpu),
            Self::Fair(scheduler) => scheduler.runs(candidate, cpu),
        }
    }

    /// The thread that runs on its CPU has another priority, or is pinned to it now. Returns
    /// whether another thread matters more.
    pub(crate) fn changed(&mut self, candidate: Candidate) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.changed(candidate),
            Self::Fair(scheduler) => scheduler.changed(candidate),
        }
    }

    /// A queued thread that is to move from `cpu`, which is crowded, to another
    /// CPU, and that CPU; it is queued there now.
    pub(crate) fn balance(&mut self, cpu: usize) -> Option<(ThreadId, usize)> {
        self.fair()?.balance(cpu)
    }

    /// The thread of `cpu` has run for `length`, until `now`.
    pub(crate) fn ran(&mut self, cpu: usize, length: Time, now: Time) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.ran(cpu, length),
            Self::Fair(scheduler) => scheduler.ran(cpu, length, now),
        }
    }

    /// The thread of `cpu` gave it up: it sleeps, or has ended.
    pub(crate) fn left(&mut self, cpu: usize) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.left(cpu),
            Self::Fair(scheduler) => scheduler.left(cpu),
        }
    }

    /// A thread that was queued is no longer ready.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        match self {
            Self::Unlimited => {}
            Self::Quantum(scheduler) => scheduler.remove(thread),
            Self::Fair(scheduler) => scheduler.remove(thread),
        }
    }

    /// The thread of `cpu` offers it to the others. Whether one takes it.
    pub(crate) fn yields(&mut self, cpu: usize) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.end_turn(cpu),
            Self::Fair(scheduler) => scheduler.yields(cpu),
        }
    }

    /// The thread of `cpu` repeatedly runs for the first of `lengths`, offers its CPU in vain, and
    /// runs for the second. Returns how often it can, at most `most`; it has done so then. The
    /// notes of each offer are left out, so that another has to follow.
    pub(crate) fn yields_in_vain(&mut self, cpu: usize, lengths: (Time, Time), most: u64) -> u64 {
        match self {
            Self::Unlimited => most,
            Self::Quantum(scheduler) => scheduler.yields_in_vain(cpu, lengths.0 + lengths.1, most),
            Self::Fair(scheduler) => scheduler.yields_in_vain(cpu, lengths, most),
        }
    }

    /// The turn of the thread of `cpu` may be over. Whether another runs now.
    pub(crate) fn turn_is_over(&mut self, cpu: usize) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.turn_is_over(cpu),
            Self::Fair(scheduler) => scheduler.turn_is_over(cpu),
        }
    }

    /// Whether anybody waits for `cpu`, perhaps, or its thread has not all the time it likes.
    pub(crate) fn is_crowded(&self, cpu: usize) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Quantum(scheduler) => scheduler.is_crowded(),
            Self::Fair(scheduler) => scheduler.is_crowded(cpu),
        }
    }

    /// How long the thread of `cpu` may still run before [`turn_is_over`](Self::turn_is_over) is
    /// to be asked; `None` if no thread waits for that.
    pub(crate) fn turn_left(&self, cpu: usize) -> Option<Time> {
        match self {
            Self::Unlimited => None,
            Self::Quantum(scheduler) => scheduler.turn_left(cpu),
            Self::Fair(scheduler) => scheduler.turn_left(cpu),
        }
    }
}
