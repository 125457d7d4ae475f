//! The clocks of POSIX and those of Linux, see clock_gettime(2).

use super::{Reader, posix};
use punctual_core::Nanos;
use punctual_program::probe::OsClock;

pub(super) fn reader(clock: OsClock) -> Option<Reader> {
    Some(match clock {
        OsClock::MonotonicRaw => posix::now_ns::<{ libc::CLOCK_MONOTONIC_RAW }>,
        OsClock::MonotonicCoarse => posix::now_ns::<{ libc::CLOCK_MONOTONIC_COARSE }>,
        OsClock::Boottime => posix::now_ns::<{ libc::CLOCK_BOOTTIME }>,
        OsClock::RealtimeCoarse => posix::now_ns::<{ libc::CLOCK_REALTIME_COARSE }>,
        clock => return posix::reader(clock),
    })
}

pub(super) fn stated(clock: OsClock) -> Option<Nanos> {
    let id = match clock {
        OsClock::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
        OsClock::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
        OsClock::Boottime => libc::CLOCK_BOOTTIME,
        OsClock::RealtimeCoarse => libc::CLOCK_REALTIME_COARSE,
        clock => posix::id(clock)?,
    };
    posix::stated(id)
}
