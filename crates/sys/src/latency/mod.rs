//! The longest wake-up latency that this process allows the CPUs.
//!
//! Linux keeps out of every idle state that takes longer to leave than the
//! strictest limit that anybody holds (kernel documentation, "PM Quality of
//! Service Interface"). The limit holds for all CPUs and all processes, and it
//! costs power: zero means that an idle CPU spins.

use crate::Error;
use punctual_core::Nanos;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
/// No limit that a program could hold.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod platform {
    use crate::Error;
    use punctual_core::Nanos;
    use std::convert::Infallible;

    pub(super) type Held = Infallible;

    pub(super) fn hold(_limit: Nanos) -> Result<Held, Error> {
        Err(Error::unsupported(
            "only Linux lets a program limit the wake-up latency of the CPUs: leave it out",
        ))
    }
}

/// Holds a limit for all CPUs until it is dropped, or the process ends.
///
/// The unit is a microsecond; what is below that is cut off, so that the limit
/// is never above what was asked for.
///
/// # Errors
/// Unsupported where there is no such limit. Permission when this user must not
/// open `/dev/cpu_dma_latency`, which is root's. Range above 2,000 s.
pub fn hold(limit: Nanos) -> Result<Guard, Error> {
    platform::hold(limit).map(|held| Guard { _held: held })
}

/// A limit that is in force until this is dropped.
#[derive(Debug)]
#[must_use = "the limit ends when the guard is dropped"]
pub struct Guard {
    _held: platform::Held,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_or_says_why_not() {
        match hold(Nanos::from_us(20)) {
            Ok(guard) => drop(guard),
            Err(error) => {
                assert!(error.is_unsupported() || error.is_permission(), "{error}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = hold(Nanos::MAX).unwrap_err();
        assert!(error.is_range() || error.is_unsupported(), "{error}");
    }
}
