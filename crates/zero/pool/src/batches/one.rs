//! One page.

/// See [`Batch::One`](super::Batch::One).
pub(super) fn take() -> u64 {
    1
}
