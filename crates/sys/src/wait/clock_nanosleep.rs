//! `clock_nanosleep` on the monotonic clock.

use super::sleeper::common::thread_sleep;
use crate::clock::Host;
use libc::{CLOCK_MONOTONIC, TIMER_ABSTIME, timespec};
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
        _ => thread_sleep(limit),
    }
}

/// `ns` as the system wants it. The sleeper has cut it to a day from now, and
/// the monotonic clock starts at boot, so it fits even a 32-bit `time_t`.
pub(super) fn timespec_of(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}
