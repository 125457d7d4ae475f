//! What shares a cache line with nothing else.

/// On a cache line of its own; how long that is, [`HostLine`](super::HostLine)
/// says.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(in crate::zero) struct Alone<T>(pub(in crate::zero) T);
