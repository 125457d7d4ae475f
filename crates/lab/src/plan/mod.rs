//! How long and how often to measure what, for the commands that measure.
//!
//! [`measure`] lists the experiments on the OS, a row for each; [`bench`](mod@bench) has
//! those that compare ways of waiting, of which [`article`] runs one on a model. Both come to [interleaved rounds](Interleaved) and scenarios,
//! which the command announces and runs.

pub mod article;
pub mod bench;
pub mod measure;

use punctual_core::Nanos;

use crate::rounds::{self, Case};

/// Cases that take turns.
#[derive(Debug)]
pub struct Interleaved {
    /// The cases, in the order of their turns.
    pub cases: Vec<Case>,
    /// How often each gets its turn.
    pub rounds: u32,
}

impl Interleaved {
    /// How long it takes if all its waits are on time.
    pub fn length(&self) -> Nanos {
        rounds::length(&self.cases, self.rounds)
    }

    /// How many turns there are in all.
    pub fn batches(&self) -> usize {
        self.cases.len() * self.rounds as usize
    }
}
