//! A condition variable of the standard library, where the system has no call that
//! both an instant and another thread can end, or none that is better known.

use super::Slack;
use crate::clock::{self, Tick};
use crate::wait::ConditionVariable;
use punctual_core::{Nanos, Reason};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(super) struct Blocker;

impl Blocker {
    pub(super) const fn new() -> Self {
        Self
    }

    pub(super) fn until(&mut self, end: Tick, _slack: Slack, flag: Option<&Flag>) -> Reason {
        match flag {
            Some(flag) => flag.wait(end),
            None => Flag::default().wait(end),
        }
    }

    pub(super) fn ordinary(&mut self, length: Nanos, flag: Option<&Flag>) -> Reason {
        self.until(clock::now() + length, Slack::Leave, flag)
    }
}

/// Raised once it was cancelled.
#[derive(Debug, Default)]
pub(super) struct Flag {
    is_raised: AtomicBool,
    condition: ConditionVariable,
}

impl Flag {
    pub(super) fn raise(&self) {
        let raise = || self.is_raised.store(true, Ordering::Release);
        self.condition.notify_after(raise);
    }

    #[inline]
    pub(super) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    pub(super) fn lower(&self) {
        self.is_raised.store(false, Ordering::Release);
    }

    /// Blocks until the flag is raised or `end` has come.
    fn wait(&self, end: Tick) -> Reason {
        self.condition.wait_unless(|| self.is_raised(), end)
    }
}
