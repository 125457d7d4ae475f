//! Twice as many pages as there are workers.

use super::View;

/// See [`Batch::TwiceWorkers`](super::Batch::TwiceWorkers).
pub(super) fn take(view: View) -> u64 {
    2 * view.workers
}
