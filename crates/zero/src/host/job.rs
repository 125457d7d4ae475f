//! What workers do together, and what comes of it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use punctual_core::Nanos;
use punctual_os::Tick;
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Accounting, LockKind, Setting};

use super::Links;

/// What workers do in a batch of passes. In each pass all pages are zeroed once,
/// after they were filled with something else.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// How they do it together.
    pub setting: Setting,
    /// How each does it.
    pub kernel: Kernel,
    /// The pages of a pass, the first of the memory.
    pub pages: u64,
    /// The list that they are taken from, if there is one.
    pub links: Option<&'a Links>,
    /// What begins a pass.
    pub arrivals: Arrivals,
    /// One take in so many is timed.
    pub every: u32,
    /// How many of these are kept by each worker.
    pub room: usize,
    /// A pass that takes longer ends as soon as it can, and does not count.
    pub longest: Nanos,
}

/// What begins a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// All pages are there, and all workers go on when all are ready; again and
    /// again for so long, but once at least.
    Closed {
        /// How long, with all that is not measured.
        length: Nanos,
    },
    /// All pages are there at multiples of a time, and wake the workers, who
    /// sleep.
    Burst {
        /// The time from one to the next.
        every: Nanos,
        /// How often.
        times: u32,
    },
}

/// What came of a batch.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// How many passes count.
    pub passes: u32,
    /// From the first worker's begin, or from when a burst was due, to the last
    /// one's end: the sum over the passes.
    pub wall: Nanos,
    /// The CPU time of all workers together.
    pub cpu: Nanos,
    /// From each worker's begin to its end, added up.
    pub elapsed: Nanos,
    /// What each worker kept, over all passes that count.
    pub accounting: Vec<Accounting>,
    /// Whether a pass was given up because it took too long.
    pub late: bool,
}

/// What a worker adds up.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) cpu: Nanos,
    pub(super) elapsed: Nanos,
    pub(super) accounting: Accounting,
}

/// When a worker began and ended, for the one who adds up the passes. On a cache line
/// of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    began: AtomicU64,
    ended: AtomicU64,
}

impl Slot {
    pub(super) fn began(&self) -> Tick {
        Tick::from_ns(self.began.load(Relaxed))
    }

    pub(super) fn ended(&self) -> Tick {
        Tick::from_ns(self.ended.load(Relaxed))
    }

    // The barrier after it shows it to the others.
    pub(super) fn set(&self, began: Tick, ended: Tick) {
        self.began.store(began.as_ns(), Relaxed);
        self.ended.store(ended.as_ns(), Relaxed);
    }
}

impl Job<'_> {
    /// The most that a batch may take.
    pub(super) fn most(&self) -> Nanos {
        match self.arrivals {
            Arrivals::Closed { length } => length + self.longest,
            // Each burst is at the next multiple of the time, which may be one
            // further on.
            Arrivals::Burst { every, times } => {
                every.times(u64::from(times) + 1) + self.longest.times(u64::from(times))
            }
        }
    }
}

/// Whether whoever waits for a lock of a pool may be off the CPU.
pub(crate) fn can_park(setting: &Setting) -> bool {
    let is_mutex = |lock| lock == LockKind::Mutex;
    is_mutex(setting.lock) || setting.returns.is_some_and(is_mutex)
}
