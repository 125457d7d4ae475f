//! `mach_wait_until`, which every other sleep of the system ends in
//! (Apple TN2169). It takes an instant of `mach_absolute_time`.

use crate::clock::{self, Host};
use crate::wait::sleeper::common::refused;
use mach2::kern_return::{KERN_ABORTED, KERN_SUCCESS};
use punctual_core::{Limit, Reason};

pub(super) fn block(limit: Limit<Host>) -> Reason {
    let deadline = match limit {
        Limit::For(length) => {
            clock::counter_now().saturating_add(clock::counter_at(length.as_ns()))
        }
        Limit::Until(instant) => clock::counter_at(instant.as_ns()),
    };
    // SAFETY: takes a number, has no preconditions.
    match unsafe { mach2::mach_time::mach_wait_until(deadline) } {
        KERN_SUCCESS => Reason::Timer,
        KERN_ABORTED => Reason::Interrupted,
        _ => refused(limit),
    }
}
