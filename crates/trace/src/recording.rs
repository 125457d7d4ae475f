//! The waits of each thread one after the other, as far as there is room.

use std::collections::BTreeMap;

use punctual_record::TracedTimeout;

use crate::call::{Call, Ended, Timeout};
use crate::engine::MOST_THREADS;
use crate::event::Name;
use crate::histogram::Bins;
use crate::wait::Wait;

/// Waits that are kept of a thread, and of all threads.
const MOST: usize = 5_000;
const MOST_OF_ALL: usize = 200_000;

/// The waits of all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording {
    pub(crate) threads: BTreeMap<u32, Recorded>,
    kept: usize,
}

/// The waits of a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) name: Name,
    /// The first of them.
    pub(crate) waits: Vec<OneWait>,
    /// How many there were.
    pub(crate) n: u64,
    /// How late those were that ended because their time was over, and how many deadlines were missed.
    pub(crate) late: Bins,
    pub(crate) missed: u64,
}

/// A wait. Instants are those of the monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneWait {
    pub(crate) call: Call,
    pub(crate) timeout: TracedTimeout,
    /// For how long the thread had slept since its wait before, in calls that are not seen.
    pub(crate) slept_before: u64,
    pub(crate) entered: u64,
    pub(crate) returned: u64,
    /// Its deadline, if it ended because that was over.
    pub(crate) due: Option<u64>,
}

impl Recording {
    pub(crate) fn note(
        &mut self,
        thread: u32,
        name: Name,
        (wait, timeout): (&Wait, TracedTimeout),
        (ended, returned): (Ended, u64),
        slept_before: u64,
    ) {
        // A call that does not wait is work.
        if wait.timeout == Timeout::Zero {
            return;
        }
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&thread) {
            return;
        }
        let of = self.threads.entry(thread).or_default();
        of.name = name;
        of.n += 1;
        let due = wait.deadline.filter(|_| ended == Ended::ByTime);
        match due.and_then(|_| wait.late(returned)) {
            Some(_) if wait.is_missed() => of.missed += 1,
            Some(late) => of.late.record(late),
            None => {}
        }
        if of.waits.len() < MOST && self.kept < MOST_OF_ALL {
            self.kept += 1;
            of.waits.push(OneWait {
                call: wait.call,
                timeout,
                slept_before,
                entered: wait.entered,
                returned,
                due,
            });
        }
    }
}
