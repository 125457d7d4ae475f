//! What shares a cache line with nothing else.

/// On a cache line of its own; how long that is, [`HostLine`](super::HostLine)
/// says.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Alone<T>(pub(crate) T);
