//! `mach_wait_until`, which every other sleep of the system ends in
//! (Apple TN2169). It takes an instant of `mach_absolute_time`.

use super::sleeper::common::{no_such_call, thread_sleep};
use crate::Error;
use crate::clock::{self, Host};
use mach2::kern_return::{KERN_ABORTED, KERN_SUCCESS};
use mach2::mach_time::mach_wait_until;
use punctual_core::{Limit, Method, Reason};

pub(super) const METHODS: &[Method] = &[Method::MachWaitUntil, Method::ThreadSleep];

/// The calls of one waiter; none needs a handle.
#[derive(Debug)]
pub(super) struct Calls;

impl Calls {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep | Method::Timer | Method::MachWaitUntil => Ok(Method::MachWaitUntil),
            Method::ThreadSleep => Ok(Method::ThreadSleep),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::Sleep | Method::Timer | Method::MachWaitUntil => wait(limit),
            _ => thread_sleep(limit),
        }
    }
}

fn wait(limit: Limit<Host>) -> Reason {
    let deadline = match limit {
        Limit::For(length) => {
            clock::counter_now().saturating_add(clock::counter_at(length.as_ns()))
        }
        Limit::Until(instant) => clock::counter_at(instant.as_ns()),
    };
    // SAFETY: takes a number, has no preconditions.
    match unsafe { mach_wait_until(deadline) } {
        KERN_SUCCESS => Reason::Timer,
        KERN_ABORTED => Reason::Interrupted,
        _ => thread_sleep(limit),
    }
}
