//! A condition variable of the standard library, where the system has no call that
//! both an instant and another thread can end, or none that is better known.

use super::Slack;
use crate::clock::{self, Tick};
use punctual_core::{Nanos, Reason};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

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
    /// Held by who raises the flag and who begins to wait for it.
    mutex: Mutex<()>,
    condition: Condvar,
}

impl Flag {
    pub(super) fn raise(&self) {
        let _guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_raised.store(true, Ordering::Release);
        self.condition.notify_all();
    }

    #[inline]
    pub(super) fn is_raised(&self) -> bool {
        self.is_raised.load(Ordering::Acquire)
    }

    pub(super) fn lower(&self) {
        self.is_raised.store(false, Ordering::Release);
    }

    /// Blocks until the flag is raised or `end` has come.
    ///
    /// The standard library goes on when a signal interrupts it, so only a notice
    /// and a spurious wake are told apart from the end.
    fn wait(&self, end: Tick) -> Reason {
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_raised() {
            return Reason::Event;
        }
        let length = end.since(clock::now());
        let waited = self.condition.wait_timeout(guard, length.into());
        let (_guard, ended) = waited.unwrap_or_else(PoisonError::into_inner);
        if ended.timed_out() {
            Reason::Timer
        } else {
            Reason::Interrupted
        }
    }
}
