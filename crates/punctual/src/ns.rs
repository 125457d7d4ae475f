//! Instants as numbers, for programs in other languages and time stamps from elsewhere.
//!
//! They count nanoseconds on the clock that all waits follow: `CLOCK_MONOTONIC` on Linux
//! and other Unix systems, `mach_absolute_time` on macOS, `QueryPerformanceCounter` on
//! Windows. C++'s `steady_clock` shows the same on Linux and Windows, and Python's
//! `time.monotonic_ns` on Linux and macOS.
//!
//! # Examples
//!
//! ```
//! use punctual::ns;
//!
//! let deadline = ns::now() + 2_000_000;
//! punctual::sleep_until(ns::instant(deadline));
//! assert!(ns::now() >= deadline);
//! ```

use std::time::{Duration, Instant};

use punctual_sys::agreed::Agreed;
use punctual_sys::clock::{self, Host, Tick};

use crate::clock::Anchor;
use crate::waiter::after;

/// Returns the current time of the clock.
#[inline]
pub fn now() -> u64 {
    clock::now().as_ns()
}

/// The system call behind [`now`].
///
/// # Examples
///
/// ```
/// println!("waits follow {}", punctual::ns::clock_name());
/// ```
pub fn clock_name() -> &'static str {
    clock::name()
}

/// The instant at so many nanoseconds, or up to some tens of nanoseconds after it: never before. A
/// time that the clock cannot show is as good as never.
pub fn instant(ns: u64) -> Instant {
    let anchor = anchor();
    match ns.checked_sub(anchor.tick.as_ns()) {
        Some(ahead) => after(anchor.instant, Duration::from_nanos(ahead)),
        None => anchor.instant(Tick::from_ns(ns)),
    }
}

/// Returns the time of the clock at `instant`: the inverse of [`instant`].
///
/// # Examples
///
/// ```
/// use punctual::ns;
///
/// let number = ns::now();
/// assert_eq!(ns::of(ns::instant(number)), number);
/// ```
pub fn of(instant: Instant) -> u64 {
    anchor().tick(instant).as_ns()
}

/// The same for the whole program, so that an instant is always the same number.
fn anchor() -> Anchor<Host> {
    const READINGS: usize = 16;
    static ANCHOR: Agreed<Anchor<Host>> = Agreed::new();
    ANCHOR.get_or(|| {
        // The instant after the number: what is between them comes late, never early.
        let readings = (0..READINGS).map(|_| {
            let (tick, instant) = (clock::now(), Instant::now());
            (clock::now().since(tick), Anchor { instant, tick })
        });
        let nearest = readings.min_by_key(|(apart, _)| *apart);
        nearest.expect("there are some readings").1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_never_before_its_number_and_comes_back() {
        for ahead in 0..1_000 {
            let ns = now() + ahead;
            let at = instant(ns);
            while Instant::now() < at {}
            assert!(now() >= ns);
            assert_eq!(of(at), ns);
            assert_eq!(instant(of(at)), at);
        }
    }

    #[test]
    fn the_past_and_the_far_future_are_instants_too() {
        let long_ago = instant(0);
        assert!(long_ago <= Instant::now());
        assert!(instant(u64::MAX) > Instant::now() + Duration::from_secs(3_000_000_000));
    }
}
