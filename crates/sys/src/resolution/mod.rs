//! The interval between the clock interrupts of Windows, on which its waits end.
//!
//! Every process may ask for a shorter one; what is in force is the shortest
//! that anybody asks for, rounded as the hardware wants it. Since Windows 10
//! 2004 only processes that ask get it (Microsoft, `timeBeginPeriod`), so this
//! is also what decides how the waits of this process end. Windows drops the
//! requests of a process that ends.
//!
//! Linux and macOS wake for each timer by itself; what stands between a thread
//! and its timer there is [`slack`](crate::slack), or the coalescing that
//! macOS derives from the quality of service.

use crate::Error;
use punctual_core::Nanos;

#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(windows))]
mod platform {
    use super::{Error, Nanos, Resolution};

    pub(super) fn query() -> Result<Resolution, Error> {
        Err(unsupported())
    }

    pub(super) fn request(_interval: Nanos) -> Result<(), Error> {
        Err(unsupported())
    }

    pub(super) fn release(_interval: Nanos) -> Result<(), Error> {
        Err(unsupported())
    }

    pub(super) fn on_battery() -> Option<bool> {
        None
    }

    fn unsupported() -> Error {
        Error::unsupported(if cfg!(any(target_os = "linux", target_os = "android")) {
            "Linux has no timer interval to ask for: what it has is timer slack, per thread"
        } else {
            "only Windows has a timer interval to ask for: macOS coalesces timers by the quality \
             of service of the thread"
        })
    }
}

#[cfg(windows)]
pub use platform::on_battery;

/// The intervals that the system has.
///
/// Windows names them the other way round: its "minimum resolution" is the
/// longest interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The longest interval, in force without a request for a shorter one.
    pub coarsest: Nanos,
    /// The shortest interval.
    pub finest: Nanos,
    /// The interval in force now, by any request.
    pub current: Nanos,
}

/// Asks the system.
///
/// # Errors
/// Unsupported but on Windows.
///
/// # Platform notes
/// Wine gives the same constant answer always: 15.625 ms, 1 ms, and 1 ms.
pub fn query() -> Result<Resolution, Error> {
    platform::query()
}

/// Holds a request of this process until it is dropped.
///
/// The process asks for the shortest interval that any of its guards holds;
/// when that guard goes, the next shortest takes over. Whole milliseconds are
/// asked for with `timeBeginPeriod`, all others with `NtSetTimerResolution`, in
/// units of 100 ns, cut down. When the one follows the other, there is a moment
/// without a request between them.
///
/// Only guards know of each other. If other code of the process calls Windows itself, the end of a
/// guard that is no whole millisecond also ends that code's request.
///
/// # Errors
/// Unsupported but on Windows. Range, naming it, when the interval is not
/// between the finest and the coarsest of [`query`].
pub fn hold(interval: Nanos) -> Result<Guard, Error> {
    request(interval)?;
    Ok(Guard { interval })
}

/// As [`hold`], but asks for `on_battery` if that is longer and the computer
/// runs on its battery now.
///
/// That is Chromium's rule, which asks for 8 ms then (Bruce Dawson, "Windows Timer Resolution: The
/// Great Rule Change"). It is decided when the guard is made: to follow a change of the power
/// source, make a new one.
///
/// # Errors
/// As [`hold`].
pub fn hold_with(interval: Nanos, on_battery: Option<Nanos>) -> Result<Guard, Error> {
    hold(with_battery(interval, on_battery, platform::on_battery()))
}

/// A request of this process that lasts until this is dropped.
#[derive(Debug)]
#[must_use = "the request ends when the guard is dropped"]
pub struct Guard {
    interval: Nanos,
}

impl Guard {
    /// The interval that this guard asks for.
    pub fn asked(&self) -> Nanos {
        self.interval
    }

    /// The interval that is in force now, as the system says. It may be shorter, because another
    /// process asks for less. It may be longer, because the system does not honour this request.
    ///
    /// # Errors
    /// As [`query`].
    pub fn granted(&self) -> Result<Nanos, Error> {
        query().map(|resolution| resolution.current)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It was asked for, so it can be released.
        let _ = release(self.interval);
    }
}

/// Asks for an interval, until as many [`release`] of the same interval or until
/// the process ends.
///
/// # Errors
/// As [`hold`].
pub fn request(interval: Nanos) -> Result<(), Error> {
    platform::request(interval)
}

/// Withdraws one request for this interval.
///
/// # Errors
/// Unsupported but on Windows. Range when this process does not ask for it.
pub fn release(interval: Nanos) -> Result<(), Error> {
    platform::release(interval)
}

fn with_battery(interval: Nanos, on_battery: Option<Nanos>, now: Option<bool>) -> Nanos {
    match on_battery {
        Some(longer) if now == Some(true) => longer.max(interval),
        _ => interval,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_battery_asks_for_the_longer_one() {
        let (one, eight) = (Nanos::from_ms(1), Nanos::from_ms(8));
        assert_eq!(with_battery(one, Some(eight), Some(true)), eight);
        assert_eq!(with_battery(eight, Some(one), Some(true)), eight);
        assert_eq!(with_battery(one, Some(eight), Some(false)), one);
        assert_eq!(with_battery(one, Some(eight), None), one);
        assert_eq!(with_battery(one, None, Some(true)), one);
    }

    #[test]
    fn the_finest_is_the_shortest_or_there_is_none() {
        match query() {
            Ok(answer) => {
                assert!(answer.finest <= answer.current && answer.current <= answer.coarsest);
            }
            Err(error) => {
                assert!(error.is_unsupported());
                assert!(hold(Nanos::from_ms(1)).unwrap_err().is_unsupported());
                assert!(release(Nanos::from_ms(1)).unwrap_err().is_unsupported());
            }
        }
    }
}
