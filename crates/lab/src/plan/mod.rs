//! How long and how often to measure what, for the commands that measure.
//!
//! [`measure`] plans the experiments on the OS, which are the rows of
//! [`EVERY`](crate::experiments::EVERY). [`bench`](mod@bench) has those that compare ways of waiting, of
//! which [`article`] runs one on a model. Both make [parts](Part): [interleaved rounds](Interleaved) and
//! scenarios, which the command announces and runs.

pub mod article;
pub mod bench;
pub mod measure;

use punctual_core::Nanos;

use crate::rounds::{self, Case};

/// A part of a plan; parts are measured one after the other.
pub trait Part {
    /// How long it takes if all its waits are on time.
    fn length(&self) -> Nanos;

    /// How many turns there are in all.
    fn batches(&self) -> usize;

    /// How many rounds it has; `None` of a scenario.
    fn rounds(&self) -> Option<u32>;
}

/// How long `parts` take together.
pub fn length<P: Part>(parts: &[P]) -> Nanos {
    let lengths = parts.iter().map(Part::length);
    lengths.fold(Nanos::ZERO, |sum, one| sum + one)
}

/// Cases that take turns.
#[derive(Debug)]
pub struct Interleaved {
    /// The cases, in the order of their turns.
    pub cases: Vec<Case>,
    /// How often each gets its turn.
    pub rounds: u32,
}

impl Part for Interleaved {
    fn length(&self) -> Nanos {
        rounds::length(&self.cases, self.rounds)
    }

    fn batches(&self) -> usize {
        self.cases.len() * self.rounds as usize
    }

    fn rounds(&self) -> Option<u32> {
        Some(self.rounds)
    }
}
