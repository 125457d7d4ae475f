//! Trapezoid self-scheduling.

use super::{Memory, View};

/// See [`Batch::Trapezoid`](super::Batch::Trapezoid). It remembers how many takes
/// there were.
pub(super) fn take(view: View, memory: &mut Memory) -> u64 {
    let [done, _] = memory;
    let first = first(view.total, view.workers);
    let steps = planned(view.total, view.workers) - 1;
    // Steps are fractions of pages; whatever takes are rounded up by is missing
    // at the end.
    let less = ((first - 1) * *done).checked_div(steps).unwrap_or(0);
    *done += 1;
    first.saturating_sub(less)
}

/// How many takes the method plans; rounding spares the last few.
pub(super) fn planned(pages: u64, workers: u64) -> u64 {
    (2 * pages).div_ceil(first(pages, workers) + 1)
}

fn first(pages: u64, workers: u64) -> u64 {
    (pages / (2 * workers)).max(1)
}
