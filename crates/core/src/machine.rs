//! What runs programs, and what it observes.

use std::fmt;

use crate::program::Program;
use crate::time::{Clock, Nanos, Tick};
use crate::wait::Outcome;

/// Something that runs programs: this host, or a simulated computer.
pub trait Machine {
    /// Says whether this machine can run `program`, without running it.
    ///
    /// # Errors
    /// Refuses a program that asks for what this machine cannot do.
    fn check(&self, program: &Program) -> Result<(), Refusal>;

    /// Runs `program` as the first thread of an experiment, with what it
    /// spawns, to its end.
    ///
    /// # Errors
    /// As [`check`](Self::check), before anything runs; and when something
    /// that was granted then is no longer to be had.
    fn run(&mut self, program: &Program) -> Result<Observations, Refusal>;
}

/// What a machine saw of one experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observations {
    /// One entry for each thread, the first program's first.
    pub threads: Vec<ThreadObservations>,
    /// Whether the user ended it before its end.
    pub interrupted: bool,
}

/// What a machine saw of one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadObservations {
    /// Each [`Record`](crate::program::Op::Record) begins a section; the first
    /// is what came before any, and so usually the warm-up.
    pub sections: Vec<Section>,
}

/// What a machine saw between two records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The waits and blocks, in order.
    pub samples: Vec<Sample>,
    /// The CPU they took.
    pub cpu: CpuUse,
}

/// One wait or block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The length asked for: from the call to the deadline.
    pub asked: Nanos,
    /// When it ended, counted from the start of the section.
    pub woke: Nanos,
    /// Cycles skipped before this one because they had passed already.
    pub missed: u64,
    /// What happened.
    pub outcome: Outcome,
}

/// What a thread's waiting cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUse {
    /// The time the section covers.
    pub elapsed: Nanos,
    /// CPU time billed to the thread; `None` where the OS does not tell.
    pub thread: Option<Nanos>,
    /// Whether `thread` is only approximate.
    pub approximate: bool,
    /// Time the CPU the thread was pinned to was not idle, whoever used it;
    /// `None` where the thread was not pinned or the OS does not tell.
    pub busy: Option<Nanos>,
    /// How often the thread gave up its CPU; `None` where the OS does not tell.
    pub switches: Option<u64>,
    /// How long the thread could run but waited for a CPU; `None` where the OS
    /// does not tell.
    pub queued: Option<Nanos>,
    /// How long the hypervisor gave the pinned CPU to somebody else; `None`
    /// where the thread was not pinned or the OS does not tell.
    pub stolen: Option<Nanos>,
}

/// Collects what one thread does, the same way on every machine.
#[derive(Debug)]
pub struct Recorder<C> {
    began: Tick<C>,
    done: Vec<Section>,
    samples: Vec<Sample>,
}

impl<C: Clock> Recorder<C> {
    /// A recorder whose first section begins at `now`, with room for `samples`
    /// samples in all.
    pub fn new(now: Tick<C>, samples: usize) -> Self {
        // Written to once, so that no page of it is touched first in a wait.
        let mut room = vec![
            Sample {
                missed: 1,
                ..Sample::default()
            };
            samples
        ];
        room.clear();
        Self {
            began: now,
            done: Vec::with_capacity(64),
            samples: room,
        }
    }

    /// Ends the section that took this CPU, and begins the next at `now`.
    pub fn section(&mut self, now: Tick<C>, cpu: CpuUse) {
        let room = Vec::with_capacity(self.samples.capacity() - self.samples.len());
        let samples = std::mem::replace(&mut self.samples, room);
        let cpu = CpuUse {
            elapsed: now.since(self.began),
            ..cpu
        };
        self.done.push(Section { samples, cpu });
        self.began = now;
    }

    /// Records a wait or block that began at `asked_at`, for `deadline`.
    pub fn sample(&mut self, asked_at: Tick<C>, deadline: Tick<C>, missed: u64, outcome: Outcome) {
        let late = outcome.late.as_ns();
        let woke = match u64::try_from(late) {
            Ok(late) => deadline + Nanos::new(late),
            Err(_) => deadline - Nanos::new(late.unsigned_abs()),
        };
        self.samples.push(Sample {
            asked: deadline.since(asked_at),
            woke: woke.since(self.began),
            missed,
            outcome,
        });
    }

    /// Ends the last section, which took this CPU, at `now`.
    pub fn finish(mut self, now: Tick<C>, cpu: CpuUse) -> ThreadObservations {
        self.section(now, cpu);
        ThreadObservations {
            sections: self.done,
        }
    }
}

/// A machine's answer to a program it cannot run: what it cannot do, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal in one sentence that says what cannot be done, why, and what
    /// to do instead.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
