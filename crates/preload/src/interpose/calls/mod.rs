//! The functions of libc that wait.
//!
//! Each asks the real function for what the rule makes of the length, and leaves to it everything else: signals,
//! cancellation, errors. Nothing here has a destructor, so a thread that is cancelled unwinds through it.
//!
//! A wait that keeps its length is the call of the program as it is. Others are made by the function with the finest
//! length. A filter of the program (seccomp) may refuse that, and an old kernel lacks it. Then the function that the
//! program called makes it, with its length rounded up.
//!
//! The safety of all wrappers is the same, and stands here once. A wrapper passes the arguments of its caller on to
//! the function that the caller meant, except for lengths, which are the wrapper's own. It reads what that
//! function would read.

#![allow(clippy::undocumented_unsafe_blocks)]

mod events;
mod locks;
mod others;
mod sleeps;

use libc::{c_int, clockid_t, timespec};

use super::process;
use super::wait::{Until, Wait, errno, set_errno};
use crate::Call;

const SECOND: u64 = 1_000_000_000;

/// A length of time in nanoseconds; `None` for a null pointer, and for one that the kernel refuses.
unsafe fn length(time: *const timespec) -> Option<u64> {
    // SAFETY: a caller of libc gives a time or a null pointer.
    let time = unsafe { time.as_ref() }?;
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let rest = u64::try_from(time.tv_nsec).ok().filter(|ns| *ns < SECOND)?;
    seconds.checked_mul(SECOND)?.checked_add(rest)
}

fn time(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / SECOND) as libc::time_t,
        tv_nsec: (ns % SECOND) as libc::c_long,
    }
}

/// A wait until an instant of a clock, and the instant in nanoseconds.
unsafe fn until(call: Call, clock: clockid_t, instant: *const timespec) -> Option<(Wait, u64)> {
    let clocks = [
        libc::CLOCK_MONOTONIC,
        libc::CLOCK_REALTIME,
        libc::CLOCK_BOOTTIME,
    ];
    if !clocks.contains(&clock) {
        return None;
    }
    // SAFETY: as for `length`.
    let instant = unsafe { length(instant) }?;
    // One reading serves both, or this one comes first: a thread that is preempted in between is not early.
    let now = process::now(libc::CLOCK_MONOTONIC);
    let here = match clock {
        libc::CLOCK_MONOTONIC => now,
        _ => process::now(clock),
    };
    let due = match instant.checked_sub(here) {
        Some(left) => now.saturating_add(left),
        None => now.saturating_sub(here - instant),
    };
    let until = Until { clock, ns: instant };
    let until = Some(until).filter(|_| clock != libc::CLOCK_MONOTONIC);
    let wait = Wait::begin_at(call, now, due, until)?;
    Some((wait, instant))
}

/// The clock of an instant for a function that does not say: CLOCK_MONOTONIC counts from the start of
/// the computer, the time of day from 1970.
unsafe fn clock_of(instant: *const timespec) -> clockid_t {
    const IN_2001: i64 = 1_000_000_000;
    // SAFETY: as for `length`.
    match unsafe { instant.as_ref() } {
        Some(instant) if instant.tv_sec < IN_2001 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    }
}

/// The result of a function that libc is too old to have.
unsafe fn missing() -> c_int {
    // SAFETY: the place of this thread's error.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

/// Makes a call with a fine length. Where that is refused, it makes another.
fn or_coarser(fine: impl FnOnce() -> c_int, coarse: impl FnOnce() -> c_int) -> c_int {
    let before = errno();
    let result = fine();
    if result >= 0 || ![libc::ENOSYS, libc::EPERM].contains(&errno()) {
        return result;
    }
    set_errno(before);
    coarse()
}
