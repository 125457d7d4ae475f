//! What Windows 11 does with the timer requests of a process that nobody sees
//! or hears.
//!
//! A process whose windows are all covered or minimised, and that is silent, is
//! not guaranteed the timer interval that it asked for, unless it said before
//! that its requests are always to be honoured (Microsoft, `timeBeginPeriod`
//! and `SetProcessInformation`).

use crate::Error;
use punctual_core::setting::Throttling;

#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
/// A system that asks no process about its timer requests.
#[cfg(not(windows))]
mod platform {
    use crate::Error;
    use punctual_core::setting::Throttling;

    pub(super) fn state() -> Result<Throttling, Error> {
        Err(unsupported())
    }

    pub(super) fn set(_throttling: Throttling) -> Result<(), Error> {
        Err(unsupported())
    }

    fn unsupported() -> Error {
        Error::unsupported(
            "only Windows 11 throttles the timer requests of a process: leave it out",
        )
    }
}

/// What this process has said so far.
///
/// # Errors
/// Unsupported before Windows 11 and on other systems.
pub fn state() -> Result<Throttling, Error> {
    platform::state()
}

/// Says it, for this process, until it says something else. Other kinds of
/// throttling are left as they are.
///
/// # Errors
/// Unsupported before Windows 11 and on other systems.
pub fn set(throttling: Throttling) -> Result<(), Error> {
    platform::set(throttling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_in_force() {
        let Ok(before) = state() else {
            assert!(state().unwrap_err().is_unsupported());
            assert!(set(Throttling::BySystem).unwrap_err().is_unsupported());
            return;
        };
        for said in [
            Throttling::HonourRequests,
            Throttling::IgnoreRequests,
            Throttling::BySystem,
        ] {
            set(said).unwrap();
            assert_eq!(state().unwrap(), said);
        }
        set(before).unwrap();
    }
}
