//! `mach_wait_until`; with somebody who may cancel, a condition variable. Both are
//! late by what xnu coalesces: for an ordinary thread an eighth of the length, at
//! most a millisecond.

use super::{Slack, condition};
use crate::clock::{self, Tick};
use mach2::kern_return::{KERN_ABORTED, KERN_SUCCESS};
use punctual_core::{Nanos, Reason};

pub(super) use super::condition::Flag;

#[derive(Debug)]
pub(super) struct Blocker(condition::Blocker);

impl Blocker {
    pub(super) const fn new() -> Self {
        Self(condition::Blocker::new())
    }

    pub(super) fn until(&mut self, end: Tick, slack: Slack, flag: Option<&Flag>) -> Reason {
        if flag.is_none() {
            // SAFETY: takes a number, has no preconditions.
            match unsafe { mach2::mach_time::mach_wait_until(clock::counter_at(end.as_ns())) } {
                KERN_SUCCESS => return Reason::Timer,
                KERN_ABORTED => return Reason::Interrupted,
                _ => {}
            }
        }
        self.0.until(end, slack, flag)
    }

    pub(super) fn ordinary(&mut self, length: Nanos, flag: Option<&Flag>) -> Reason {
        match flag {
            Some(_) => self.0.ordinary(length, flag),
            None => self.until(clock::now() + length, Slack::Leave, None),
        }
    }
}
