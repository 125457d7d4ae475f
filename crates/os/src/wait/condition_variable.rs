//! A condition variable of the standard library that nobody notifies.

use crate::clock::{self, Host};
use punctual_core::{Limit, Reason};
use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Debug, Default)]
pub(super) struct ConditionVariable {
    mutex: Mutex<()>,
    condition: Condvar,
}

impl ConditionVariable {
    /// The standard library goes on when a signal interrupts it, so only a spurious
    /// wake is told apart from the end.
    pub(super) fn block(&mut self, limit: Limit<Host>) -> Reason {
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        let length = limit.length(clock::now());
        let waited = self.condition.wait_timeout(guard, length.into());
        let (_guard, ended) = waited.unwrap_or_else(PoisonError::into_inner);
        if ended.timed_out() {
            Reason::Timer
        } else {
            Reason::Interrupted
        }
    }
}
