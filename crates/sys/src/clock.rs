//! The one clock of this machine that everything here is timed on.
//!
//! A monotonic clock is picked per system. It is the one of the system's own precise waits, so
//! that a wake and the reading after it agree:
//!
//! | system | clock | while the machine is suspended |
//! |---|---|---|
//! | Linux, Android | `CLOCK_MONOTONIC` | stops |
//! | other Unix | `CLOCK_MONOTONIC` | as that system defines it |
//! | macOS | `mach_absolute_time` | stops |
//! | Windows | `QueryPerformanceCounter` | goes on |
//! | anything else | `std::time::Instant` | as the standard library defines it |
//!
//! Example: a suspend of an hour interrupts a wait of ten seconds. On Linux and macOS the wait
//! ends ten seconds of waking time after its start.
//!
//! On Windows its deadline passes during the suspend, but a running block does not see that. Since
//! Windows 8, relative timers do not count the time spent in low-power states (Microsoft,
//! `SetWaitableTimer`). The block thus continues after the resume for its rest. One block
//! therefore asks for a second at most there, and the wait ends within about a second of the
//! resume.

use punctual_core::{Clock, Nanos};

#[cfg(target_os = "macos")]
pub use platform::{counter_at, counter_now, counter_ns};

/// Marks the clock of the machine this program runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host;

impl Clock for Host {}

/// An instant of this machine's clock.
pub type Tick = punctual_core::Tick<Host>;

/// Reads the clock, in nanoseconds. Never goes back.
///
/// # Accuracy
/// The unit is a nanosecond; the step of the hardware counter behind it may be
/// coarser, see [`resolution`].
#[inline]
pub fn now() -> Tick {
    Tick::from_ns(platform::now_ns())
}

/// Whether the clock has stood at `shown` for a tenth of a second by another clock, since this was
/// first asked. For waits that see no progress; under libfaketime a clock may stand for ever.
///
/// # Platform notes
/// Linux, which has a clock that nothing replaces. Elsewhere false.
#[cold]
pub fn stands(shown: Tick) -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return crate::nap::kernel_clock::stands(shown);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = shown;
        false
    }
}

/// Whether [`now`] follows the kernel's clock. Otherwise, as under libfaketime, measurements do
/// not describe the machine. Calls that wait until an instant of this clock may never end, those
/// of the standard library among them. [Naps](crate::nap) and spins end.
///
/// # Platform notes
/// Linux, which has a clock that nothing replaces; takes 4 ms. Elsewhere true.
pub fn is_the_kernels() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return crate::nap::kernel_clock::is_the_only_one();
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    true
}

/// The name of the system call behind [`now`].
pub fn name() -> &'static str {
    platform::NAME
}

/// The step of the clock as the system states it, rounded up to a nanosecond.
///
/// # Platform notes
/// A Unix system without high-resolution timers states its tick here, such as
/// 10 ms. Where the system states nothing (the fallback), this is the smallest
/// step seen in a short run of readings.
pub fn resolution() -> Nanos {
    platform::resolution()
}

#[cfg(all(unix, not(target_os = "macos")))]
mod platform {
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
}

#[cfg(target_os = "macos")]
mod platform {
    //! `mach_absolute_time`, the clock that `mach_wait_until` runs on.
    //!
    //! One count is 1 ns on Intel Macs and 125/3 ns on Apple silicon. The ratio must therefore be
    //! asked for, and must not be inverted (Apple QA1398).

    use crate::agreed::Agreed;
    use crate::scale::Scale;
    use mach2::mach_time::{mach_absolute_time, mach_timebase_info};
    use punctual_core::Nanos;

    pub(super) const NAME: &str = "mach_absolute_time";

    #[inline]
    pub(super) fn now_ns() -> u64 {
        scale().to_ns(counter_now())
    }

    pub(super) fn resolution() -> Nanos {
        scale().step()
    }

    /// The raw counter.
    pub fn counter_now() -> u64 {
        // SAFETY: reads a counter, has no preconditions.
        unsafe { mach_absolute_time() }
    }

    /// Converts a value of that counter to this clock.
    pub fn counter_ns(count: u64) -> u64 {
        scale().to_ns(count)
    }

    /// The first counter value that is not before `ns` on this clock.
    pub fn counter_at(ns: u64) -> u64 {
        scale().from_ns(ns)
    }

    #[inline]
    fn scale() -> Scale {
        static SCALE: Agreed<Scale> = Agreed::new();
        SCALE.get_or(|| {
            let mut base = mach_timebase_info { numer: 1, denom: 1 };
            // SAFETY: `base` is a valid place for the ratio.
            unsafe { mach2::mach_time::mach_timebase_info(&mut base) };
            // A system that states no ratio counts nanoseconds.
            Scale::from_timebase(base.numer, base.denom).unwrap_or(Scale::NANOSECONDS)
        })
    }
}

#[cfg(windows)]
mod platform {
    //! `QueryPerformanceCounter`, as in Microsoft's "Acquiring high-resolution time
    //! stamps": its frequency is fixed at boot, and since Windows XP it never fails.

    use crate::scale::Scale;
    use punctual_core::Nanos;
    use std::sync::OnceLock;
    use windows_sys::Win32::System::Performance::{
        QueryPerformanceCounter, QueryPerformanceFrequency,
    };

    pub(super) const NAME: &str = "QueryPerformanceCounter";

    #[inline]
    pub(super) fn now_ns() -> u64 {
        let mut count = 0;
        // SAFETY: `count` is a valid place for the counter.
        unsafe { QueryPerformanceCounter(&mut count) };
        scale().to_ns(count as u64)
    }

    pub(super) fn resolution() -> Nanos {
        scale().step()
    }

    #[inline]
    fn scale() -> &'static Scale {
        static SCALE: OnceLock<Scale> = OnceLock::new();
        SCALE.get_or_init(|| {
            let mut hz = 0;
            // SAFETY: `hz` is a valid place for the frequency.
            unsafe { QueryPerformanceFrequency(&mut hz) };
            // A system that states no frequency is taken to count nanoseconds.
            Scale::from_frequency(hz as u64).unwrap_or(Scale::NANOSECONDS)
        })
    }
}

#[cfg(not(any(unix, windows)))]
mod platform {
    //! `std::time::Instant`, counted from the first reading of this process.

    use punctual_core::Nanos;
    use std::sync::OnceLock;
    use std::time::Instant;

    pub(super) const NAME: &str = "std::time::Instant";

    #[inline]
    pub(super) fn now_ns() -> u64 {
        Nanos::from(anchor().elapsed()).as_ns()
    }

    /// The standard library does not tell the step of its clock, so it is looked
    /// for: the smallest difference between readings in a bounded run.
    pub(super) fn resolution() -> Nanos {
        let mut smallest = u64::MAX;
        let mut last = now_ns();
        for _ in 0..100_000 {
            let next = now_ns();
            if next > last {
                smallest = smallest.min(next - last);
                last = next;
            }
        }
        // No step at all in that time: the clock is coarse, and one second is the
        // worst that anybody will believe.
        Nanos::new(smallest.min(1_000_000_000))
    }

    fn anchor() -> Instant {
        static ANCHOR: OnceLock<Instant> = OnceLock::new();
        *ANCHOR.get_or_init(Instant::now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_goes_back() {
        let mut last = now();
        for _ in 0..10_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn advances_and_has_a_step() {
        let start = now();
        while now() == start {}
        assert!(resolution() > Nanos::ZERO);
        assert!(resolution() <= Nanos::from_secs(1));
    }
}
