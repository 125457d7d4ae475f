//! A simulated thread: its program, and what it is at.

use punctual_core::crowd::Spun;
use punctual_core::strategies::AnyStrategy;
use punctual_core::{Event, Nanos, Reason, Step, Tick, Wait};
use punctual_program::lengths::{Cycles, Draws};
use punctual_program::machine::{CpuUse, Recorder, ThreadObservations};
use punctual_program::probe::OsClock;
use punctual_program::program::{Cursor, Op};
use punctual_program::setting::Priority;
use punctual_rules::{ProcessId, Rule, Time};

use crate::clock::SimClock;
use crate::scheduler::{Candidate, Share};

/// The state of a thread. The fields of every event come first, in as few cache lines as possible.
#[repr(C)]
pub(crate) struct Thread<'p> {
    pub(crate) place: Place,
    pub(crate) priority: Priority,
    /// Why the thread will go on.
    pub(crate) reason: Reason,
    /// Where it runs, or ran last.
    pub(crate) cpu: usize,
    pub(crate) pinned: Option<usize>,
    /// The CPU that carried out its wake-up; `None` if none did.
    pub(crate) woken_by: Option<usize>,
    pub(crate) process: ProcessId,
    pub(crate) share: Share,
    /// Its work on its CPU before its program continues.
    pub(crate) burst: Burst,
    /// The CPU time of the blocking call it is in.
    pub(crate) nap: Time,
    /// Up to when its running, or its waiting for a CPU, is in the books.
    pub(crate) since: Time,
    /// When it got its CPU, for the trace.
    pub(crate) on_cpu_since: Time,
    /// The CPU time it was charged since it was started.
    pub(crate) used: Time,
    /// The counts of this section.
    pub(crate) queued: Time,
    pub(crate) switches: u64,
    /// How often waking it ended the rest of a CPU; `None` where CPUs are not counted.
    pub(crate) wakeups: Option<u64>,
    pub(crate) doing: Doing<'p>,
    pub(crate) cursor: Cursor<'p>,
    pub(crate) recorder: Recorder<SimClock>,
    /// The wait that is under way, while it is [`Doing::Waiting`].
    pub(crate) waiting: Option<Waiting>,
    pub(crate) strategies: Vec<AnyStrategy>,
    /// When the event that ended its wait was signalled.
    pub(crate) signalled: Option<Time>,
    pub(crate) cycles: Option<Box<Cycles<SimClock>>>,
    pub(crate) draws: Draws,
    /// The instant that the last operation was to last until: a pace that comes next
    /// begins then.
    pub(crate) arranged: Option<Time>,
    /// The part of its CPU time that earlier sections took.
    pub(crate) used_before: Time,
    /// The ticks that found it running, as time; `None` if its CPU time is counted exactly.
    pub(crate) ticked: Option<Time>,
    pub(crate) name: &'p str,
    pub(crate) first_phase: usize,
    /// When it was started, counted from the beginning of the experiment.
    pub(crate) began: Nanos,
    /// The counts of its last section, once it has ended.
    pub(crate) ended: Option<Box<CpuUse>>,
}

impl Thread<'_> {
    /// Bills it for running until `now`. Ticks are taken to come to each busy CPU when they come to the first.
    pub(crate) fn ran(&mut self, rule: &dyn Rule, now: Time) {
        if let Some(ticked) = &mut self.ticked
            && let Some(grid) = rule.ticks(0, false)
        {
            *ticked = *ticked + grid.period.times(grid.count(self.since, now));
        }
        self.used = self.used + (now - self.since);
        self.since = now;
    }

    /// The CPU time of this section until `now`.
    pub(crate) fn cpu_use(&self, now: Tick<SimClock>) -> CpuUse {
        let used = self.ticked.unwrap_or(self.used) - self.used_before;
        CpuUse {
            elapsed: self.recorder.elapsed(now),
            thread: Some(Nanos::new(used.floor_ns())),
            approximate: self.ticked.is_some(),
            queued: Some(Nanos::new(self.queued.floor_ns())),
            switches: Some(self.switches),
            wakeups: self.wakeups,
            ..CpuUse::default()
        }
    }

    /// Ends the section, and begins the next one.
    pub(crate) fn section(&mut self, now: Tick<SimClock>) {
        let cpu = self.cpu_use(now);
        self.recorder.section(now, cpu);
        self.used_before = self.ticked.unwrap_or(self.used);
        self.queued = Time::ZERO;
        self.switches = 0;
        self.wakeups = self.wakeups.map(|_| 0);
    }

    /// The observations until `now`.
    pub(crate) fn finish(self, now: Tick<SimClock>) -> ThreadObservations {
        let cpu = self.cpu_use(now);
        let cpu = self.ended.map_or(cpu, |ended| *ended);
        ThreadObservations {
            name: self.name.to_owned(),
            first_phase: self.first_phase,
            began: self.began,
            learned: self.strategies.into_iter().map(Some).collect(),
            ..self.recorder.finish(cpu)
        }
    }

    /// The event that would end what it is doing.
    pub(crate) fn ended_by(&self) -> Option<Event> {
        match self.doing {
            Doing::Awaiting(event) => Some(event),
            Doing::Asking(event) => event,
            Doing::Waiting => self.waiting.as_ref()?.ended_by(),
            _ => None,
        }
    }

    /// Begins a step of its wait. Its books are up to date.
    pub(crate) fn begin_step(&mut self) {
        self.reason = Reason::Ran;
        if let Some(waiting) = &mut self.waiting {
            waiting.metered_from = waiting.wait.is_metered().then_some(self.used);
        }
    }

    /// Tells its wait that the step ended, at the reading `now` of the clock,
    /// which a metered block is charged too. Its books are up to date.
    pub(crate) fn woke(&mut self, now: Tick<SimClock>) {
        if let Some(waiting) = &mut self.waiting {
            let strategy = &mut self.strategies[waiting.with];
            let charged = |from| Nanos::new((self.used - from).floor_ns());
            let cpu = waiting.metered_from.take().map(charged);
            waiting.wait.woke(strategy, now, self.reason, cpu);
        }
    }

    /// The facts that the scheduler needs.
    pub(crate) fn candidate(&self, thread: usize, foreground: Option<ProcessId>) -> Candidate {
        Candidate {
            thread,
            reason: self.reason,
            is_in_foreground: foreground == Some(self.process),
            priority: self.priority,
            share: self.share,
            is_woken_here: self.woken_by.is_none_or(|cpu| cpu == self.cpu),
            cpu: self.cpu,
            pinned: self.pinned,
            from: 0,
        }
    }
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Blocked, until something wakes it.
    Asleep,
    /// Woken, and on its way to its CPU.
    Waking,
    /// Ready, and waiting for a CPU.
    Queued,
    /// On its CPU.
    Running,
    /// The experimenter, who needs no CPU.
    Outside,
    Ended,
}

/// The work of a thread on its CPU before its program continues.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Burst {
    /// It needs so much more CPU time.
    Work(Time),
    /// It reads the clock until that shows this, or a later time.
    Spin(Tick<SimClock>),
    /// It needs so much CPU time, and then offers the CPU to the others; after
    /// that so much more.
    Yield(Time, Time),
}

/// The activity of a thread.
#[derive(Clone, Copy)]
pub(crate) enum Doing<'p> {
    /// It is about to look for its next operation.
    Running,
    /// It reads the clock, and then begins this.
    Beginning(&'p Op),
    /// It carries out the steps of [`Thread::waiting`].
    Waiting,
    /// It offers its CPU while it spins, and did so last at this reading of the clock.
    Offering(Tick<SimClock>),
    Blocked {
        begin: Tick<SimClock>,
        deadline: Tick<SimClock>,
    },
    /// Its event loop blocks until its clock shows `due`, and did so `naps` times.
    Looping {
        op: &'p Op,
        begin: Tick<SimClock>,
        due: u64,
        naps: u32,
    },
    Awaiting(Event),
    /// It has been told from outside what to do, which this may end, and asks then
    /// what comes next.
    Asking(Option<Event>),
    /// It reads a clock that a tick writes, which showed `shown`.
    Stepping {
        clock: OsClock,
        shown: Time,
        has_moved: bool,
    },
    Ended,
}

/// A wait that is under way.
pub(crate) struct Waiting {
    pub(crate) wait: Wait<SimClock>,
    pub(crate) with: usize,
    pub(crate) begin: Tick<SimClock>,
    pub(crate) missed: u64,
    /// The CPU time of its thread when the present block began, if that is metered.
    pub(crate) metered_from: Option<Time>,
    /// How the spin that it is in goes.
    pub(crate) spinning: Option<Spun>,
}

impl Waiting {
    /// The event it looks at before and after each step.
    pub(crate) fn looks_at(&self) -> Option<Event> {
        match self.wait.step() {
            Step::Done => None,
            _ => self.wait.goal().or,
        }
    }

    /// The event that would end the step it is at. A yield ends by itself.
    pub(crate) fn ended_by(&self) -> Option<Event> {
        match self.wait.step() {
            Step::Yield => None,
            _ => self.looks_at(),
        }
    }
}
