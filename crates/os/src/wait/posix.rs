//! The calls of Unix: how they take times, never shorter than what was asked, how they fail, and
//! those that several systems have.

use crate::clock::{self, Host};
use crate::wait::refused;
use punctual_core::{Limit, Nanos, Reason};
use std::{io, ptr};

/// The reason why a block ended whose call has just reported an error.
pub(super) fn after_error(limit: Limit<Host>) -> Reason {
    match io::Error::last_os_error().kind() {
        io::ErrorKind::Interrupted => Reason::Interrupted,
        _ => refused(limit),
    }
}

/// `ns` in seconds and nanoseconds. The sleeper has cut it to a day from now,
/// and the monotonic clock starts at boot, so it fits even a 32-bit `time_t`.
pub(super) fn timespec_of(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as _,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}

/// Rounded up.
pub(super) fn whole_us(length: Nanos) -> u64 {
    length.as_ns().div_ceil(1_000)
}

/// Rounded up. The sleeper has cut the length to a day, which fits.
pub(super) fn whole_ms(length: Nanos) -> libc::c_int {
    libc::c_int::try_from(length.as_ns().div_ceil(1_000_000)).unwrap_or(libc::c_int::MAX)
}

/// `nanosleep`, for the length that is left.
pub(super) fn nanosleep(limit: Limit<Host>) -> Reason {
    let request = timespec_of(limit.length(clock::now()).as_ns());
    // SAFETY: `request` is a valid timespec with less than 10^9 nanoseconds, and
    // no remainder is asked for, which the null pointer says.
    if unsafe { libc::nanosleep(&request, ptr::null_mut()) } == 0 {
        return Reason::Timer;
    }
    after_error(limit)
}

/// `usleep`, in whole microseconds.
pub(super) fn usleep(limit: Limit<Host>) -> Reason {
    /// POSIX lets a system refuse a second and more.
    const LONGEST_US: u32 = 999_999;
    let wanted = whole_us(limit.length(clock::now()));
    let us = u32::try_from(wanted).map_or(LONGEST_US, |us| us.min(LONGEST_US));
    // SAFETY: takes a number.
    if unsafe { libc::usleep(us) } != 0 {
        return after_error(limit);
    }
    if u64::from(us) < wanted {
        Reason::Interrupted
    } else {
        Reason::Timer
    }
}

/// `select` on nothing, in whole microseconds.
pub(super) fn select(limit: Limit<Host>) -> Reason {
    let us = whole_us(limit.length(clock::now()));
    let mut timeout = libc::timeval {
        tv_sec: (us / 1_000_000) as _,
        tv_usec: (us % 1_000_000) as _,
    };
    let none = ptr::null_mut;
    // SAFETY: there are no descriptors, which zero and the null pointers say,
    // and `timeout` is a valid timeval that the call may write to.
    match unsafe { libc::select(0, none(), none(), none(), &mut timeout) } {
        0 => Reason::Timer,
        _ => after_error(limit),
    }
}

/// `poll` on nothing, in whole milliseconds; Linux has `ppoll`.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn poll(limit: Limit<Host>) -> Reason {
    let timeout = whole_ms(limit.length(clock::now()));
    // SAFETY: there are no descriptors, which zero and the null pointer say.
    match unsafe { libc::poll(ptr::null_mut(), 0, timeout) } {
        0 => Reason::Timer,
        _ => after_error(limit),
    }
}

/// `clock_nanosleep` on the monotonic clock, relative to now for a length, and with
/// `TIMER_ABSTIME` for an instant. An absolute sleep that a signal interrupts is repeated without
/// arithmetic, so that the error does not add up.
#[cfg(not(target_os = "macos"))]
pub(super) fn clock_nanosleep(limit: Limit<Host>) -> Reason {
    let (flags, ns) = match limit {
        Limit::For(length) => (0, length.as_ns()),
        Limit::Until(instant) => (libc::TIMER_ABSTIME, instant.as_ns()),
    };
    let request = timespec_of(ns);
    // SAFETY: `request` is a valid timespec with less than 10^9 nanoseconds, and
    // no remainder is asked for, which the null pointer says.
    let error =
        unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, flags, &request, ptr::null_mut()) };
    match error {
        0 => Reason::Timer,
        libc::EINTR => Reason::Interrupted,
        // The clock cannot be slept on (a sandbox, an old kernel).
        _ => refused(limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up() {
        for (ns, us, ms) in [
            (0, 0, 0),
            (1, 1, 1),
            (1_000, 1, 1),
            (1_001, 2, 1),
            (1_000_000, 1_000, 1),
            (1_000_001, 1_001, 2),
        ] {
            assert_eq!(whole_us(Nanos::new(ns)), us);
            assert_eq!(whole_ms(Nanos::new(ns)), ms);
        }
        assert_eq!(whole_ms(Nanos::MAX), libc::c_int::MAX);
    }

    #[test]
    fn a_timespec_has_less_than_a_second_of_nanoseconds() {
        for (ns, seconds, rest) in [
            (0, 0, 0),
            (999_999_999, 0, 999_999_999),
            (2_000_000_003, 2, 3),
        ] {
            let time = timespec_of(ns);
            assert_eq!((time.tv_sec, time.tv_nsec), (seconds, rest));
        }
    }
}
