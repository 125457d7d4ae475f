//! Lengths as the calls of Windows take them, never shorter than what was asked.

use punctual_core::Nanos;

/// Rounded up: the rest of a millisecond as `Sleep(0)` would be a busy loop
/// (renode#256). The sleeper has cut the length to a second, which fits.
pub(crate) fn whole_ms(length: Nanos) -> u32 {
    u32::try_from(length.as_ns().div_ceil(1_000_000)).unwrap_or(u32::MAX - 1)
}

/// The due time of a timer: negative means from now, in units of 100 ns,
/// rounded up. Zero is an instant long past, so the timer is due at once.
pub(super) fn due_time(length: Nanos) -> i64 {
    -i64::try_from(length.as_ns().div_ceil(100)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windows_sys::Win32::System::Threading::INFINITE;

    #[test]
    fn lengths_are_rounded_up() {
        for (ns, ms) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(whole_ms(Nanos::new(ns)), ms);
        }
        for (ns, due) in [(0, 0), (1, -1), (100, -1), (101, -2), (1_000_000, -10_000)] {
            assert_eq!(due_time(Nanos::new(ns)), due);
        }
        assert!(whole_ms(Nanos::MAX) < INFINITE);
        assert!(due_time(Nanos::MAX) < 0);
    }
}
