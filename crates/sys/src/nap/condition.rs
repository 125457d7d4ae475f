//! A condition variable of the standard library. It is used where the system has no known call
//! that both an instant and another thread can end.

use super::Slack;
use crate::clock::{self, Tick};
use punctual_core::{Nanos, Reason};
use std::sync::PoisonError;

#[cfg(all(test, loom))]
use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, Ordering},
};
#[cfg(not(all(test, loom)))]
use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, Ordering},
};

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

/// The interleavings under loom (`.ci/loom`). A wait here ends only when it is told, so a flag
/// that was raised unheard would never end it.
#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::{Arc, atomic::AtomicU32};
    use loom::thread;

    fn until_raised(flag: &Flag) {
        while flag.wait(Tick::NEVER) != Reason::Event {}
    }

    #[test]
    fn whoever_waits_is_told_and_sees_what_was_written_before() {
        loom::model(|| {
            let shared = Arc::new((Flag::default(), AtomicU32::new(0)));
            let waiters = [0, 1].map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    until_raised(&shared.0);
                    assert_eq!(shared.1.load(Ordering::Relaxed), 7);
                })
            });
            shared.1.store(7, Ordering::Relaxed);
            shared.0.raise();
            for waiter in waiters {
                waiter.join().unwrap();
            }
        });
    }

    /// Of two that raise it, one before and one after it is lowered, the second counts.
    #[test]
    fn what_is_lowered_can_be_raised_again() {
        loom::model(|| {
            let flag = Arc::new(Flag::default());
            let raiser = thread::spawn({
                let flag = Arc::clone(&flag);
                move || flag.raise()
            });
            flag.lower();
            raiser.join().unwrap();
            flag.lower();
            assert!(!flag.is_raised());
            let waiter = thread::spawn({
                let flag = Arc::clone(&flag);
                move || until_raised(&flag)
            });
            flag.raise();
            waiter.join().unwrap();
        });
    }
}
