//! A backlog for each worker, of which others take half when theirs is empty:
//! see [`Batch::StealHalf`](super::Batch::StealHalf).

use std::ops::Range;

use super::Batch;

/// The backlog of a worker at first: an even share, in one piece.
pub(crate) fn share(pages: u64, worker: u64, workers: u64) -> Range<u64> {
    let from = |worker: u64| (u128::from(pages) * u128::from(worker) / u128::from(workers)) as u64;
    from(worker)..from(worker + 1)
}

/// Cuts a backlog into what its owner takes and what is left.
pub(crate) fn taken(own: Range<u64>) -> (Range<u64>, Range<u64>) {
    let next = (own.start + Batch::OWN).min(own.end);
    (own.start..next, next..own.end)
}

/// Cuts a backlog into what a thief takes, the half at the end, rounded up, and
/// what is left.
pub(crate) fn stolen(victim: Range<u64>) -> (Range<u64>, Range<u64>) {
    let left = (victim.end - victim.start) / 2;
    let cut = victim.start + left;
    (cut..victim.end, victim.start..cut)
}
