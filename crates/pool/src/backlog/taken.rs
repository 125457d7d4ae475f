//! What a worker has taken.

use std::ops::Range;

/// Pages that one worker has taken. It is the worker's own, and used again for
/// its next take.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Pages that lie side by side.
    pub(crate) range: Range<u64>,
    /// Pages from all over the place.
    pub(crate) pages: Vec<u64>,
}

impl Taken {
    /// Nothing yet, with room for so many pages from all over the place. The room
    /// has been written to, so that no page fault comes under a lock.
    pub(super) fn with_room(pages: u64) -> Self {
        let mut room = Vec::with_capacity(pages as usize);
        room.resize(pages as usize, u64::MAX);
        room.clear();
        Self {
            range: 0..0,
            pages: room,
        }
    }

    /// How many pages.
    pub(crate) fn count(&self) -> u64 {
        self.range.end - self.range.start + self.pages.len() as u64
    }
}
