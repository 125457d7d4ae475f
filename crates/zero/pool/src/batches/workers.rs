//! As many pages as there are workers: the article's rule for when handing out
//! takes as long as zeroing a page.

use super::View;

/// See [`Batch::Workers`](super::Batch::Workers).
pub(super) fn take(view: View) -> u64 {
    view.workers
}
