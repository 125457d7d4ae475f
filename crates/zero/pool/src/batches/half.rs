//! Half of what is left.

use super::View;

/// See [`Batch::Half`](super::Batch::Half).
pub(super) fn take(view: View) -> u64 {
    view.rest / 2
}
