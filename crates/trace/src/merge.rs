//! Events of several CPUs in the order of time.

use crate::event::Event;

/// Events that were read from the buffers of several CPUs, each in its own order.
///
/// All events before an instant are there once each buffer was read after it. Its user therefore reads the
/// clock, then all buffers, and then takes the events that are older.
#[derive(Debug, Default)]
pub struct Merge {
    waiting: Vec<Event>,
}

impl Merge {
    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.waiting.push(event);
    }

    /// Gives the events up to `until` to `take`, in the order of time; of the same instant in the
    /// order in which they were added.
    pub fn take(&mut self, until: u64, take: impl FnMut(Event)) {
        self.waiting.sort_by_key(|event| event.time);
        let n = self.waiting.partition_point(|event| event.time <= until);
        self.waiting.drain(..n).for_each(take);
    }
}
