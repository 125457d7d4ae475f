//! Factoring.

use super::{Memory, View};

/// See [`Batch::Factoring`](super::Batch::Factoring). It remembers the pages of
/// each take of the round, and how many are left of the round.
pub(super) fn take(view: View, memory: &mut Memory) -> u64 {
    let [pages, left] = memory;
    if *left == 0 {
        *pages = view.part(2 * view.workers);
        *left = view.workers;
    }
    *left -= 1;
    *pages
}
