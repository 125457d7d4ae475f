//! A simulated thread: its program, and what it is at.

use punctual_core::machine::{CpuUse, Recorder, ThreadObservations};
use punctual_core::pace::Cycles;
use punctual_core::program::{Cursor, Op};
use punctual_core::strategies::Any;
use punctual_core::{Event, Nanos, Reason, Step, Tick, Wait};

use crate::clock::SimClock;
use crate::time::Time;

/// What a thread has and is at.
pub(crate) struct Thread<'p> {
    pub(crate) cursor: Cursor<'p>,
    pub(crate) strategies: Vec<Any>,
    pub(crate) cycles: Option<Cycles<SimClock>>,
    pub(crate) doing: Doing<'p>,
    /// Counts wakes, so that one that was overtaken is recognised.
    pub(crate) turn: u64,
    /// Whether something has ended what it blocks in, so that nothing else can.
    pub(crate) is_woken: bool,
    /// Why the thread will go on.
    pub(crate) reason: Reason,
    pub(crate) recorder: Recorder<SimClock>,
    pub(crate) cpu: Time,
    /// When the spin it is in began.
    pub(crate) spinning_since: Time,
}

impl Thread<'_> {
    /// What this section took until `now`.
    pub(crate) fn cpu_use(&self, now: Tick<SimClock>) -> CpuUse {
        CpuUse {
            elapsed: self.recorder.elapsed(now),
            thread: Some(Nanos::new(self.cpu.floor_ns())),
            ..CpuUse::default()
        }
    }

    /// What was observed of it until `now`.
    pub(crate) fn finish(self, now: Tick<SimClock>) -> ThreadObservations {
        let cpu = self.cpu_use(now);
        self.recorder.finish(cpu)
    }
}

/// What a thread is doing.
pub(crate) enum Doing<'p> {
    /// It is about to look for its next operation.
    Running,
    /// It reads the clock, and then begins this.
    Beginning(&'p Op),
    Waiting(Waiting),
    Blocked {
        begin: Tick<SimClock>,
        deadline: Tick<SimClock>,
    },
    Awaiting(Event),
    Ended,
}

/// A wait that is under way.
pub(crate) struct Waiting {
    pub(crate) wait: Wait<SimClock>,
    pub(crate) with: usize,
    pub(crate) begin: Tick<SimClock>,
    pub(crate) deadline: Tick<SimClock>,
    pub(crate) missed: u64,
}

impl Waiting {
    /// The event it looks at before and after each step.
    pub(crate) fn looks_at(&self) -> Option<Event> {
        match self.wait.step() {
            Step::Block { or, .. } | Step::Spin { or, .. } | Step::Yield { or } => or,
            Step::Done => None,
        }
    }

    /// The event that would end the step it is at. A yield ends by itself.
    pub(crate) fn ended_by(&self) -> Option<Event> {
        match self.wait.step() {
            Step::Yield { .. } => None,
            _ => self.looks_at(),
        }
    }

    pub(crate) fn is_spinning(&self) -> bool {
        matches!(self.wait.step(), Step::Spin { .. })
    }
}

impl Doing<'_> {
    /// The event that would end this.
    pub(crate) fn ended_by(&self) -> Option<Event> {
        match self {
            Self::Awaiting(event) => Some(*event),
            Self::Waiting(waiting) => waiting.ended_by(),
            _ => None,
        }
    }

    pub(crate) fn is_spinning(&self) -> bool {
        matches!(self, Self::Waiting(waiting) if waiting.is_spinning())
    }
}
