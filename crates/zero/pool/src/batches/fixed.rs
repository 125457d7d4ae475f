//! So many pages.

/// See [`Batch::Fixed`](super::Batch::Fixed).
pub(super) fn take(pages: u64) -> u64 {
    pages
}
