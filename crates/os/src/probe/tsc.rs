//! The time-stamp counter of an x86 CPU, in nanoseconds.

use crate::scale::Scale;
use crate::{clock, spin};
use punctual_core::Nanos;
use std::arch::x86_64::{_mm_lfence, _mm_mfence, _rdtsc};
use std::sync::OnceLock;

/// The first reading in a process finds out the rate, for 10 ms.
pub(super) fn now_ns() -> u64 {
    scale().to_ns(count())
}

#[inline]
pub(crate) fn count() -> u64 {
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe { _rdtsc() }
}

/// As [`count`], between what comes before it, stores included, and what comes
/// after it.
#[inline]
pub(crate) fn settled_count() -> u64 {
    // SAFETY: every x86-64 CPU has these instructions; the fences change nothing.
    unsafe {
        _mm_mfence();
        _mm_lfence();
        let count = _rdtsc();
        _mm_lfence();
        count
    }
}

/// The rate against the host's clock. Both are read twice within tens of
/// nanoseconds, so 10 ms give the rate to about ten parts in a million.
pub(crate) fn scale() -> &'static Scale {
    static SCALE: OnceLock<Scale> = OnceLock::new();
    SCALE.get_or_init(|| {
        let (start, first) = (clock::now(), count());
        let end = spin::until(start + Nanos::from_ms(10));
        let counted = u128::from(count().saturating_sub(first));
        let hz = counted * 1_000_000_000 / u128::from(end.since(start).as_ns().max(1));
        // A counter that does not count reads as zero for ever.
        u64::try_from(hz)
            .ok()
            .and_then(Scale::from_frequency)
            .unwrap_or(Scale::NANOSECONDS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_about_as_fast_as_the_clock() {
        // The first reading takes the rate.
        let first = now_ns();
        let start = clock::now();
        let end = spin::until(start + Nanos::from_ms(5));
        let counted = now_ns() - first;
        let passed = end.since(start).as_ns();
        // A thread that loses its CPU between two readings counts more.
        assert!(counted > passed * 9 / 10, "{counted} ns in {passed} ns");
    }
}
