//! The longest wake-up latency that this process allows the CPUs.
//!
//! Linux keeps out of every idle state that takes longer to leave than the
//! strictest limit that anybody holds (kernel documentation, "PM Quality of
//! Service Interface"). The limit holds for all CPUs and all processes, and it
//! costs power: zero means that an idle CPU spins.

use crate::Error;
use punctual_core::Nanos;

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

#[cfg(any(target_os = "linux", target_os = "android"))]
mod platform {
    //! `/dev/cpu_dma_latency`: the limit is a 32-bit number of microseconds, and
    //! lasts as long as the file is open.

    use crate::Error;
    use punctual_core::Nanos;
    use std::fs::{File, OpenOptions};
    use std::io::{self, Write};

    pub(super) type Held = File;

    pub(super) fn hold(limit: Nanos) -> Result<Held, Error> {
        let Some(us) = i32::try_from(limit.as_ns() / 1_000)
            .ok()
            .filter(|us| *us <= NO_LIMIT_US)
        else {
            return Err(Error::range(format!(
                "a wake-up latency of {limit} is no limit: ask for 2000 s or less"
            )));
        };
        let mut device = OpenOptions::new()
            .write(true)
            .open(DEVICE)
            .map_err(|cause| refused(&cause))?;
        device
            .write_all(&us.to_ne_bytes())
            .map_err(|cause| Error::io(format_args!("writing to {DEVICE}"), &cause))?;
        Ok(device)
    }

    const DEVICE: &str = "/dev/cpu_dma_latency";

    /// `PM_QOS_CPU_LATENCY_DEFAULT_VALUE` of the kernel.
    const NO_LIMIT_US: i32 = 2_000_000_000;

    fn refused(cause: &io::Error) -> Error {
        match cause.kind() {
            io::ErrorKind::NotFound => Error::unsupported(format!(
                "there is no {DEVICE}: this kernel or container takes no limit on the wake-up \
                 latency, so leave it out"
            )),
            io::ErrorKind::PermissionDenied => Error::io(
                format_args!("opening {DEVICE}: run as root, or as a group that may write to it"),
                cause,
            ),
            _ => Error::io(format_args!("opening {DEVICE}"), cause),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_refusal_says_what_to_do() {
            let error = refused(&io::Error::from(io::ErrorKind::PermissionDenied));
            assert!(error.is_permission() && error.to_string().contains("run as root"));
            assert!(refused(&io::Error::from(io::ErrorKind::NotFound)).is_unsupported());
        }
    }
}

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
