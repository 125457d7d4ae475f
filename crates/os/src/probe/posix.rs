//! Clocks that POSIX reads through one call.

use super::Reader;
use libc::{clockid_t, timespec};
use punctual_core::Nanos;
use punctual_program::probe::OsClock;

/// The clocks that every POSIX system has.
pub(super) fn reader(clock: OsClock) -> Option<Reader> {
    Some(match clock {
        OsClock::Monotonic => now_ns::<{ libc::CLOCK_MONOTONIC }>,
        OsClock::Realtime => now_ns::<{ libc::CLOCK_REALTIME }>,
        OsClock::ThreadCpuTime => now_ns::<{ libc::CLOCK_THREAD_CPUTIME_ID }>,
        OsClock::ProcessCpuTime => now_ns::<{ libc::CLOCK_PROCESS_CPUTIME_ID }>,
        _ => return None,
    })
}

/// The number of such a clock.
pub(super) fn id(clock: OsClock) -> Option<clockid_t> {
    Some(match clock {
        OsClock::Monotonic => libc::CLOCK_MONOTONIC,
        OsClock::Realtime => libc::CLOCK_REALTIME,
        OsClock::ThreadCpuTime => libc::CLOCK_THREAD_CPUTIME_ID,
        OsClock::ProcessCpuTime => libc::CLOCK_PROCESS_CPUTIME_ID,
        _ => return None,
    })
}

pub(super) fn now_ns<const ID: clockid_t>() -> u64 {
    let mut time = ZERO;
    // SAFETY: `time` is a valid place for one timespec. A clock that is not
    // there leaves it alone, and then stands still.
    unsafe { libc::clock_gettime(ID, &mut time) };
    in_ns(&time)
}

/// What `clock_getres` says.
pub(super) fn stated(id: clockid_t) -> Option<Nanos> {
    let mut step = ZERO;
    // SAFETY: `step` is a valid place for one timespec.
    let answer = unsafe { libc::clock_getres(id, &mut step) };
    (answer == 0).then(|| Nanos::new(in_ns(&step)))
}

const ZERO: timespec = timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// The time of day lasts until the year 2554.
fn in_ns(time: &timespec) -> u64 {
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
