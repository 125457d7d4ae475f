//! The events of an experiment, one after the other.

use std::fmt;

use punctual_core::{Method, Nanos};
use punctual_rules::{Ms, Outstanding, ProcessId, ThreadId, Time};

pub use punctual_rules::Explanation;

/// A record of one experiment.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// When the experiment began.
    pub(crate) began: Time,
    /// The threads, by number.
    pub threads: Vec<ThreadInfo>,
    /// In order of time.
    pub events: Vec<(Nanos, Happened)>,
    /// The outstanding requests for a timer interval, from each instant at which they changed.
    pub requests: Vec<(Nanos, Vec<Outstanding>)>,
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

/// A wake by a timer. Displays as a sentence: what the thread had asked for, and
/// why the wake came when it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The thread.
    pub thread: String,
    /// When it called, which call, and when that was due.
    pub armed: Option<(Nanos, Method, Nanos)>,
    /// When it woke.
    pub at: Nanos,
    /// Why then.
    pub why: Explanation,
}

impl fmt::Display for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((at, method, due)) = self.armed {
            let (length, thread, at) = (due - at, &self.thread, ms(at));
            write!(f, "{thread} called {method} for {length} at {at}, ")?;
        }
        write!(f, "{}.", self.why)
    }
}

/// An instant as explanations have it: `1594.1804 ms`.
pub fn ms(at: Nanos) -> String {
    format!("{} ms", Ms(Time::from_ns(at.as_ns())))
}

/// The most events that are kept, of at most 128 bytes each; while the list grows
/// it takes three times that.
const EVENTS_MAX: usize = 1_000_000;
const _: () = assert!(size_of::<(Nanos, Happened)>() <= 128);

/// The most changes of the requests that are kept.
const REQUESTS_MAX: usize = 10_000;

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

    /// The wakes by a timer of the first thread of this name.
    pub fn wakes(&self, name: &str) -> Vec<Wake> {
        let id = self.threads.iter().position(|thread| thread.name == name);
        let mut armed = None;
        let mut wakes = Vec::new();
        for (at, happened) in &self.events {
            match happened {
                Happened::Armed {
                    thread,
                    method,
                    due,
                } if Some(*thread) == id => armed = Some((*at, *method, *due)),
                Happened::Expired { thread, why, .. } if Some(*thread) == id => wakes.push(Wake {
                    thread: name.to_owned(),
                    armed: armed.take(),
                    at: *at,
                    why: *why,
                }),
                _ => {}
            }
        }
        wakes
    }

    pub(crate) fn note_requests(&mut self, at: Time, outstanding: Vec<Outstanding>) {
        let before = self.requests.last().map_or(&[][..], |(_, before)| before);
        if before == outstanding {
            return;
        }
        if self.requests.len() < REQUESTS_MAX {
            self.requests.push((self.since(at), outstanding));
        } else {
            self.is_cut = true;
        }
    }

    pub(crate) fn note(&mut self, at: Time, what: Happened) {
        if self.events.len() < EVENTS_MAX {
            self.events.push((self.since(at), what));
        } else {
            self.is_cut = true;
        }
    }
}
