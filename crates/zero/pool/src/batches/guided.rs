//! Guided self-scheduling.

use super::View;

/// See [`Batch::Guided`](super::Batch::Guided).
pub(super) fn take(view: View, share: u64, floor: u64) -> u64 {
    view.part(share * view.workers).max(floor)
}
