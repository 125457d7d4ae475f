//! What happened in an experiment, one thing after the other.

use punctual_core::{Method, Nanos};

use crate::rules::{ProcessId, ThreadId, Why, why};
use crate::time::Time;

/// A record of one experiment.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// When the experiment began.
    pub(crate) began: Time,
    /// The threads, by number.
    pub threads: Vec<ThreadInfo>,
    /// In order of time.
    pub events: Vec<(Nanos, Happened)>,
    /// Whether there was more than could be kept.
    pub is_cut: bool,
}

/// A thread of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its name.
    pub name: String,
    /// The process it belongs to.
    pub process: ProcessId,
}

/// Something that happened, at an instant counted from the beginning.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// A thread blocked in an OS call until its timer.
    Armed {
        /// Which.
        thread: ThreadId,
        /// In which call.
        method: Method,
        /// When it is due, counted from the beginning.
        due: Nanos,
    },
    /// A timer interrupt ended the block of a thread.
    Expired {
        /// Which.
        thread: ThreadId,
        /// On which CPU the interrupt was.
        cpu: usize,
        /// Why it came when it did, in a sentence.
        why: Explanation,
    },
    /// An event ended the block of a thread.
    Signalled {
        /// Which.
        thread: ThreadId,
    },
    /// A thread had run on a CPU since `from`, and no longer does.
    Ran {
        /// Which.
        thread: ThreadId,
        /// Where.
        cpu: usize,
        /// Since when, counted from the beginning.
        from: Nanos,
    },
    /// The timer interval changed to this.
    Interval(Nanos),
    /// A phase began.
    Phase(usize),
    /// A thread ended.
    Ended(ThreadId),
}

/// Why a wake happened when it did. Displays as a sentence, with instants in
/// milliseconds since the beginning of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub(crate) why: Why,
    pub(crate) at: Time,
    pub(crate) origin: Time,
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        why::explain(f, self.why, self.at, self.origin)
    }
}

/// The most events that are kept, of at most 128 bytes each; while the list grows
/// it takes three times that.
const EVENTS_MAX: usize = 1_000_000;
const _: () = assert!(size_of::<(Nanos, Happened)>() <= 128);

impl Trace {
    pub(crate) fn new(began: Time) -> Self {
        Self {
            began,
            ..Self::default()
        }
    }

    /// An instant as it is shown: counted from the beginning.
    pub(crate) fn since(&self, at: Time) -> Nanos {
        Nanos::new((at - self.began).floor_ns())
    }

    pub(crate) fn note(&mut self, at: Time, what: Happened) {
        if self.events.len() < EVENTS_MAX {
            self.events.push((self.since(at), what));
        } else {
            self.is_cut = true;
        }
    }
}
