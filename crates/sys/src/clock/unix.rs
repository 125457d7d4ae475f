//! `CLOCK_MONOTONIC`, which on Linux is a vDSO call that never enters the
//! kernel when the clock source is the TSC.

use libc::{CLOCK_MONOTONIC, timespec};
use punctual_core::Nanos;

pub(super) const NAME: &str = "clock_gettime(CLOCK_MONOTONIC)";

#[inline]
pub(super) fn now_ns() -> u64 {
    let mut time = ZERO;
    // SAFETY: `time` is a valid place for one timespec. The call cannot fail:
    // POSIX requires the clock, and the pointer is good.
    unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut time) };
    in_ns(&time)
}

pub(super) fn resolution() -> Nanos {
    let mut step = ZERO;
    // SAFETY: `step` is a valid place for one timespec.
    unsafe { libc::clock_getres(CLOCK_MONOTONIC, &mut step) };
    Nanos::new(in_ns(&step).max(1))
}

const ZERO: timespec = timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// The monotonic clock counts up from about zero at boot, so neither field is
/// ever negative and the sum lasts for 584 years of uptime.
#[inline]
fn in_ns(time: &timespec) -> u64 {
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
