//! A condition variable of the standard library.

use crate::clock::{self, Host, Tick};
use punctual_core::{Limit, Reason};
use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct ConditionVariable {
    /// Held by who notifies and who begins to wait.
    mutex: Mutex<()>,
    condition: Condvar,
}

impl ConditionVariable {
    /// Blocks where nobody notifies.
    pub(super) fn block(&mut self, limit: Limit<Host>) -> Reason {
        let end = clock::now() + limit.length(clock::now());
        self.wait_unless(|| false, end)
    }

    /// Blocks until somebody notifies or `end` has come, unless something
    /// `is_over`, which only who notifies makes so.
    ///
    /// The standard library goes on when a signal interrupts it, so only a notice
    /// and a spurious wake are told apart from the end.
    pub(crate) fn wait_unless(&self, is_over: impl FnOnce() -> bool, end: Tick) -> Reason {
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        if is_over() {
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

    /// Makes a change and wakes who waits for it.
    #[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
    pub(crate) fn notify_after(&self, change: impl FnOnce()) {
        let _guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        self.condition.notify_all();
    }
}
