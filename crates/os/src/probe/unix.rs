//! The clocks of POSIX, see clock_gettime(2), those of Linux, and those of Mach.

use super::Reader;
use libc::{clockid_t, timespec};
use punctual_core::Nanos;
use punctual_program::probe::OsClock;

pub(super) fn reader(clock: OsClock) -> Option<Reader> {
    Some(match clock {
        OsClock::Monotonic => now_ns::<{ libc::CLOCK_MONOTONIC }>,
        OsClock::Realtime => now_ns::<{ libc::CLOCK_REALTIME }>,
        OsClock::ThreadCpuTime => now_ns::<{ libc::CLOCK_THREAD_CPUTIME_ID }>,
        OsClock::ProcessCpuTime => now_ns::<{ libc::CLOCK_PROCESS_CPUTIME_ID }>,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::MonotonicRaw => now_ns::<{ libc::CLOCK_MONOTONIC_RAW }>,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::MonotonicCoarse => now_ns::<{ libc::CLOCK_MONOTONIC_COARSE }>,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::Boottime => now_ns::<{ libc::CLOCK_BOOTTIME }>,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::RealtimeCoarse => now_ns::<{ libc::CLOCK_REALTIME_COARSE }>,
        #[cfg(target_os = "macos")]
        OsClock::MachAbsoluteTime => || crate::clock::now().as_ns(),
        #[cfg(target_os = "macos")]
        OsClock::MachApproximateTime => || {
            // SAFETY: reads a word of memory, has no preconditions.
            crate::clock::counter_ns(unsafe { mach2::mach_time::mach_approximate_time() })
        },
        #[cfg(target_os = "macos")]
        OsClock::MachContinuousTime => || {
            // SAFETY: reads a counter, has no preconditions.
            crate::clock::counter_ns(unsafe { mach2::mach_time::mach_continuous_time() })
        },
        _ => return None,
    })
}

/// What `clock_getres` says, and on macOS `mach_timebase_info`, whose two clocks count the same.
pub(super) fn stated(clock: OsClock) -> Option<Nanos> {
    let id = match clock {
        OsClock::Monotonic => libc::CLOCK_MONOTONIC,
        OsClock::Realtime => libc::CLOCK_REALTIME,
        OsClock::ThreadCpuTime => libc::CLOCK_THREAD_CPUTIME_ID,
        OsClock::ProcessCpuTime => libc::CLOCK_PROCESS_CPUTIME_ID,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::Boottime => libc::CLOCK_BOOTTIME,
        #[cfg(any(target_os = "linux", target_os = "android"))]
        OsClock::RealtimeCoarse => libc::CLOCK_REALTIME_COARSE,
        #[cfg(target_os = "macos")]
        OsClock::MachAbsoluteTime | OsClock::MachContinuousTime => {
            return Some(crate::clock::resolution());
        }
        _ => return None,
    };
    let mut step = ZERO;
    // SAFETY: `step` is a valid place for one timespec.
    let answer = unsafe { libc::clock_getres(id, &mut step) };
    (answer == 0).then(|| Nanos::new(in_ns(&step)))
}

pub(crate) fn now_ns<const ID: clockid_t>() -> u64 {
    let mut time = ZERO;
    // SAFETY: `time` is a valid place for one timespec. A clock that is not
    // there leaves it alone, and then stands still.
    unsafe { libc::clock_gettime(ID, &mut time) };
    in_ns(&time)
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
