//! `clock_nanosleep` on the monotonic clock.

use super::posix::timespec_of;
use crate::clock::Host;
use crate::wait::sleeper::common::{end_of, refused};
use libc::{CLOCK_MONOTONIC, TIMER_ABSTIME};
use punctual_core::{Limit, Reason};

/// Blocks relative to now for a length, and with `TIMER_ABSTIME` for an
/// instant: an absolute sleep that a signal interrupts is asked for again
/// without arithmetic, so that the error does not add up.
pub(super) fn block(limit: Limit<Host>) -> Reason {
    let (flags, ns) = match limit {
        Limit::For(length) => (0, length.as_ns()),
        Limit::Until(instant) => (TIMER_ABSTIME, instant.as_ns()),
    };
    let request = timespec_of(ns);
    // SAFETY: `request` is a valid timespec with less than 10^9 nanoseconds, and
    // no remainder is asked for, which the null pointer says.
    let error =
        unsafe { libc::clock_nanosleep(CLOCK_MONOTONIC, flags, &request, std::ptr::null_mut()) };
    match error {
        0 => Reason::Timer,
        libc::EINTR => Reason::Interrupted,
        // The clock cannot be slept on (a sandbox, an old kernel).
        _ => refused(limit),
    }
}

/// The same with `TIMER_ABSTIME` for a length too.
pub(super) fn block_absolute(limit: Limit<Host>) -> Reason {
    block(Limit::Until(end_of(limit)))
}
