//! Zeroing pages: the cost of a pool of workers here and on simulated computers, the cost of fresh
//! memory in this OS, and advice.

pub mod advice;
pub mod article;
mod facts;
pub mod host;
pub mod loads;
pub mod probe;
pub mod published;
mod report;
pub mod rows;
pub mod run;
pub mod simulation;
pub mod validation;

use std::thread::ScopedJoinHandle;

use punctual_lab::host::Stop;
use punctual_lab::rounds::End;
use punctual_program::Refusal;
use punctual_record::{Disturbance, Warning};

use crate::rows::ZeroRow;

pub use facts::ZeroFacts;
pub use report::{COMPARED, computers};
pub use simulation::Grid;

/// Joins a thread; if it panicked, so does the caller.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    let joined = thread.join();
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Each of these once, in the order in which they come first.
pub(crate) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// Each of these once, the least first.
pub(crate) fn ascending<T: Ord>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut ascending: Vec<T> = all.into_iter().collect();
    ascending.sort_unstable();
    ascending.dedup();
    ascending
}

/// The refusal for a request that the system does not support.
pub(crate) fn refusal(error: punctual_os::Error) -> Refusal {
    Refusal::new(error.to_string())
}

/// How far it has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Turns that are done.
    pub done: usize,
    /// The measurement that comes next.
    pub next: String,
    /// In which round, counted from 0.
    pub round: u32,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct Ran {
    /// The measurements, in the order in which they are shown.
    pub measurements: Vec<ZeroRow>,
    /// The measurements that were given up.
    pub given_up: Vec<Warning>,
    /// Other disturbances of the computer meanwhile.
    pub disturbance: Option<Disturbance>,
    /// Why it ended early, if it did.
    pub end: End,
}

/// The default number of rounds: six are the fewest for 95 % intervals.
pub const fn usual_rounds(quick: bool) -> u32 {
    if quick { 3 } else { 6 }
}

/// Lets the cases take their `turn`, with the round and the case, until every round is done, the
/// user wants an end, or something fails.
pub(crate) fn take_turns(
    rounds: u32,
    cases: usize,
    stop: &Stop,
    turn: &mut dyn FnMut(u32, usize) -> Result<(), Refusal>,
) -> End {
    let mut turns = (0..rounds).flat_map(|round| (0..cases).map(move |case| (round, case)));
    let failed = turns.find_map(|(round, case)| match stop.is_requested() {
        true => Some(None),
        false => turn(round, case).err().map(Some),
    });
    let failed = failed.flatten();
    End {
        // The turn under way may have less than it was to have.
        interrupted: stop.is_requested() && failed.is_none(),
        failed,
    }
}
