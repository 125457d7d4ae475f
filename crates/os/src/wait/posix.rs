//! What the calls of Unix have in common: how they take times, never shorter
//! than what was asked, and how they fail.

use crate::clock::Host;
use crate::wait::sleeper::common::refused;
use punctual_core::{Limit, Nanos, Reason};
use std::io;

/// What became of a block whose call has just left an error behind.
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
