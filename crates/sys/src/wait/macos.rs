//! `mach_wait_until`, which every other sleep of the system ends in
//! (Apple TN2169). It takes an instant of `mach_absolute_time`.

use super::sleeper::common::thread_sleep;
use crate::clock::{self, Host};
use mach2::kern_return::{KERN_ABORTED, KERN_SUCCESS};
use mach2::mach_time::mach_wait_until;
use punctual_core::{Limit, Method, Reason};

pub(super) use super::one_call::{Calls, METHODS};

pub(super) const CALL: Method = Method::MachWaitUntil;

pub(super) fn call(limit: Limit<Host>) -> Reason {
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
