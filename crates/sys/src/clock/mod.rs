//! The one clock of this machine that everything here is timed on.
//!
//! A monotonic clock is picked per system, always the one that the system's
//! own precise waits run on, so that a wake and the reading after it agree:
//!
//! | system | clock | while the machine is suspended |
//! |---|---|---|
//! | Linux, Android | `CLOCK_MONOTONIC` | stops |
//! | other Unix | `CLOCK_MONOTONIC` | as that system defines it |
//! | macOS | `mach_absolute_time` | stops |
//! | Windows | `QueryPerformanceCounter` | goes on |
//! | anything else | `std::time::Instant` | as the standard library defines it |
//!
//! So a wait of ten seconds that a suspend of an hour interrupts ends ten
//! seconds of waking time after its start on Linux and macOS.
//!
//! On Windows its deadline passes during the suspend, but a block that is under
//! way does not see that: since Windows 8, relative timers do not count the
//! time spent in low-power states (Microsoft, `SetWaitableTimer`), so it goes
//! on after the resume for what it had left. One block therefore asks for a
//! second at most there, and the wait ends within about a second of the resume.

use punctual_core::{Clock, Nanos};

#[cfg(all(unix, not(target_os = "macos")))]
#[path = "unix.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(unix, windows)))]
#[path = "fallback.rs"]
mod platform;

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
