//! A pool of workers that zero pages, written once.
//!
//! The locks, the policies and the worker's loop are `async` functions over a computer of cache
//! lines. On a simulated one each operation suspends until its line has been served: that is
//! [`suspending`]. On real threads, and under loom, every operation is done when it returns. The
//! module [`blocking`] is the same text, compiled without `async` and `await`.
//!
//! A [`Setting`] says which lock ([`LockKind`]), how many pages a worker takes at
//! a time ([`Batch`]) and who hands them out; a `Pool` is one backlog under
//! such a setting; each worker keeps its [`Accounting`].

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod batches;
mod lock;
mod setting;
pub mod suspending;
#[cfg(test)]
mod tests;

use punctual_core::Nanos;

include!(concat!(env!("OUT_DIR"), "/blocking.rs"));

pub use batches::Batch;
pub use lock::{LockFacts, LockKind, Passing, SimulatedOn, Waiting};
pub use setting::{Dequeue, Setting};

/// The accounting of one worker. Reading the clock takes as long as zeroing a small part of a
/// page, so only one take in `every` is timed. The sums of wait, hold and zeroing are over those.
/// Multiply wait and hold, which do not depend on the size of a take, by `acquisitions / sampled`.
/// Multiply zeroing by `pages / pages_sampled`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// One take in so many is timed, the first at first; none if it is 0.
    pub every: u32,
    /// The pages that were zeroed.
    pub pages: u64,
    /// The takes, including the last, which found nothing. A steal is part of the take that found
    /// its own share empty.
    pub acquisitions: u64,
    /// How many of these were timed.
    pub sampled: u64,
    /// The pages that these took.
    pub pages_sampled: u64,
    /// From the request for the lock to having it, or without a lock to having pages. Where zeroed
    /// pages are put into a list, the wait for its lock is included. A thief waits from the
    /// release of one lock to having the next.
    pub wait: Nanos,
    /// From having it to having given it back, likewise.
    pub hold: Nanos,
    /// Zeroing what was taken.
    pub zeroing: Nanos,
    /// Takes that were timed, each by itself, as long as there is room.
    pub samples: Vec<Sample>,
}

/// A take that was timed; what it spent on the list of zeroed pages is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// How long it waited for locks.
    pub wait: Nanos,
    /// How long it held them.
    pub hold: Nanos,
    /// How long its pages took to be zeroed; zero where there were none.
    pub zeroing: Nanos,
    /// How many pages it took.
    pub pages: u64,
}

impl Accounting {
    /// Empty accounting that times one take in `every`, none if that is 0, with room for
    /// so many samples.
    pub fn new(every: u32, room: usize) -> Self {
        Self {
            every,
            samples: Vec::with_capacity(room),
            ..Self::default()
        }
    }

    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.every != 0 && self.acquisitions.is_multiple_of(u64::from(self.every))
    }

    /// A take has been timed. Whether there was room to keep it.
    pub(crate) fn note_take(&mut self, take: Timed) -> bool {
        self.sampled += 1;
        self.note_locks(take);
        let has_room = self.samples.len() < self.samples.capacity();
        if has_room {
            self.samples.push(Sample {
                wait: take.wait,
                hold: take.hold,
                ..Sample::default()
            });
        }
        has_room
    }

    /// Adds the time in which the pages of the last take were zeroed. Keeps it as a sample if the
    /// take was kept.
    pub(crate) fn note_zeroing(&mut self, pages: u64, length: Nanos, is_kept: bool) {
        self.pages_sampled += pages;
        self.zeroing += length;
        if let Some(sample) = self.samples.last_mut().filter(|_| is_kept) {
            (sample.zeroing, sample.pages) = (length, pages);
        }
    }

    /// Adds the time that one take, or one return of zeroed pages, spent on locks.
    pub(crate) fn note_locks(&mut self, timed: Timed) {
        self.wait += timed.wait;
        self.hold += timed.hold;
    }
}

/// The time that the locks of one take cost.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    pub(crate) wait: Nanos,
    pub(crate) hold: Nanos,
    pub(crate) end: Nanos,
}
