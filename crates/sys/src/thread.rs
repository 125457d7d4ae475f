//! The costs of the calling thread.

use punctual_core::Nanos;

/// The CPU time of the calling thread, where the system counts it exactly. A difference that is
/// charged by the tick, or counted in cycles of a guessed rate, teaches nothing about one nap.
///
/// # Accuracy
/// Interrupts and the way out of an idle state are mostly not charged to the
/// thread, so naps look cheaper than they are.
///
/// # Platform notes
/// Unix: `CLOCK_THREAD_CPUTIME_ID`. Windows has no exact one.
#[inline]
pub fn exact_cpu_time() -> Option<Nanos> {
    #[cfg(target_os = "macos")]
    {
        // SAFETY: takes the number of a clock that macOS has had since 10.12, and
        // returns a number; zero means failure.
        let ns = unsafe { clock_gettime_nsec_np(libc::CLOCK_THREAD_CPUTIME_ID) };
        (ns > 0).then(|| Nanos::new(ns))
    }
    #[cfg(all(unix, not(target_os = "macos")))]
    {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a valid place for one timespec.
        let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        (answer == 0).then(|| Nanos::new(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
    }
    #[cfg(not(unix))]
    None
}

// Apple's call has nanoseconds where `clock_gettime` of older releases has
// microseconds (man page clock_gettime_nsec_np).
// SAFETY: as declared in Apple's <time.h>; the libc crate does not have it.
#[cfg(target_os = "macos")]
unsafe extern "C" {
    fn clock_gettime_nsec_np(clock: libc::clockid_t) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Liveness, not accuracy: a thread that never stops computing is charged
    /// sooner or later, wherever CPU time is counted at all.
    #[test]
    fn cpu_time_advances_or_is_absent() {
        let Some(start) = exact_cpu_time() else {
            return;
        };
        while exact_cpu_time().unwrap() <= start {
            crate::spin::until(crate::clock::now() + Nanos::from_us(100));
        }
    }
}
