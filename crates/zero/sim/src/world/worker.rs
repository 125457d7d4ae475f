//! What each worker does, and where its time goes.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::lines::{Access, Request};
use super::super::preemption::Losses;
use punctual_sim::Time;

/// One worker.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) doing: Doing,
    /// What came of it.
    pub(super) answer: u64,
    pub(super) losses: Losses,
    pub(super) account: Account,
    /// When the stores to the pages that it zeroed last are done.
    pub(super) drained: Time,
    /// Stores that are not done, the oldest first.
    pub(super) stores: VecDeque<Posted>,
    /// What it wants when there are none.
    pub(super) then: Option<Wanted>,
    /// Whether it has taken pages since it last zeroed some.
    pub(super) has_taken: bool,
}

/// A store that is not done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) line: usize,
    pub(super) request: Request,
    /// Whether the line is on its way.
    pub(super) asked: bool,
}

/// What a worker does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Doing {
    /// What takes as long as its timer says.
    Works,
    /// It wants a line. If it is served, its timer says when it has it.
    Wants(usize),
    /// It spins on its copy of a line, until that is taken away.
    Spins,
    /// It has lost its copy of a line and its CPU, and asks again when it has the
    /// CPU back.
    AsksAgain(usize, Request),
    /// It waits until its stores are done.
    Drains,
    /// It zeroes so many pages since then.
    Zeroes(u64, Time),
    /// It gives up its CPU, and has done so from then on.
    Parks(Time),
}

/// Where the time of a worker went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) begun: Time,
    pub(crate) ended: Time,
    pub(crate) zeroing: Time,
    /// Off the CPU by its own will.
    pub(crate) parked: Time,
    /// Off the CPU because somebody else had it.
    pub(crate) lost: Time,
}

impl Account {
    /// The CPU time of the worker, as it is billed: who takes the CPU away does
    /// not say so.
    pub(crate) fn cpu(&self) -> Time {
        (self.ended - self.begun) - self.parked
    }
}

/// What a worker can ask of its computer.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Access {
        line: usize,
        word: usize,
        access: Access,
    },
    Work(Time),
    Relax,
    Miss,
    Overhead,
    Zero(Range<u64>),
    /// Gives up the CPU if a word is what it is expected to be.
    Park {
        line: usize,
        word: usize,
        expected: u64,
    },
    /// Wakes the first who gave up the CPU for a line.
    Wake(usize),
}
