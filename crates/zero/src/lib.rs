//! Zeroing pages: what a pool of workers costs here, what this OS takes for
//! fresh memory, the same pool on simulated computers, and what to do about it.

pub mod advice;
pub mod article;
pub mod calibration;
pub mod host;
pub mod model;
pub mod probe;
pub mod published;
mod report;
pub mod rows;
pub mod run;
pub mod simulation;
mod turns;
pub mod validation;

use punctual_program::Refusal;

pub use report::{COMPARED, computers};
pub use simulation::Grid;
pub use turns::{Progress, Ran, usual_rounds};

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

/// What the system does not do, as whoever wanted it hears it.
pub(crate) fn refusal(error: punctual_os::Error) -> Refusal {
    Refusal::new(error.to_string())
}
