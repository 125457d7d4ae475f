//! How Windows 11 treats the timer requests of a process that is neither visible nor audible.
//!
//! A process whose windows are all covered or minimised, and that is silent, may not get the timer
//! interval that it asked for. It does if it said before that its requests are always to be
//! honoured (Microsoft, `timeBeginPeriod` and `SetProcessInformation`).

use crate::Error;
use punctual_core::setting::Throttling;

/// Returns the state that this process has set.
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

#[cfg(windows)]
mod platform {
    //! `SetProcessInformation(ProcessPowerThrottling)`. The control mask says which
    //! bits the process decides on, the state mask how.

    use crate::{Error, wine};
    use punctual_core::setting::Throttling;
    use std::io;
    use windows_sys::Win32::Foundation::ERROR_INVALID_PARAMETER;
    use windows_sys::Win32::System::Threading::{
        GetCurrentProcess, GetProcessInformation, PROCESS_POWER_THROTTLING_CURRENT_VERSION,
        PROCESS_POWER_THROTTLING_IGNORE_TIMER_RESOLUTION as IGNORE, PROCESS_POWER_THROTTLING_STATE,
        ProcessPowerThrottling, SetProcessInformation,
    };

    pub(super) fn state() -> Result<Throttling, Error> {
        masks().map(|masks| meaning(&masks))
    }

    pub(super) fn set(throttling: Throttling) -> Result<(), Error> {
        let wanted = changed(&masks()?, throttling);
        // SAFETY: the pseudo handle of this process, and a structure of the length
        // stated.
        let done = unsafe {
            SetProcessInformation(
                GetCurrentProcess(),
                ProcessPowerThrottling,
                (&raw const wanted).cast(),
                size_of_val(&wanted) as u32,
            )
        };
        if done == 0 {
            return Err(refused("saying what to do with timer requests"));
        }
        Ok(())
    }

    /// Wine exports both calls and ends a program that uses the first one ("call
    /// to unimplemented function"), so it is not called there.
    fn masks() -> Result<PROCESS_POWER_THROTTLING_STATE, Error> {
        if wine::version().is_some() {
            return Err(Error::unsupported(
                "Wine throttles no timer requests: leave it out",
            ));
        }
        let mut masks = PROCESS_POWER_THROTTLING_STATE {
            Version: PROCESS_POWER_THROTTLING_CURRENT_VERSION,
            ..PROCESS_POWER_THROTTLING_STATE::default()
        };
        // SAFETY: the pseudo handle of this process, and a place of the length
        // stated.
        let told = unsafe {
            GetProcessInformation(
                GetCurrentProcess(),
                ProcessPowerThrottling,
                (&raw mut masks).cast(),
                size_of_val(&masks) as u32,
            )
        };
        if told == 0 {
            return Err(refused("asking what is done with timer requests"));
        }
        Ok(masks)
    }

    fn meaning(masks: &PROCESS_POWER_THROTTLING_STATE) -> Throttling {
        match (masks.ControlMask & IGNORE, masks.StateMask & IGNORE) {
            (0, _) => Throttling::BySystem,
            (_, 0) => Throttling::HonourRequests,
            _ => Throttling::IgnoreRequests,
        }
    }

    /// Only our bit changes: execution speed is another one of these.
    fn changed(
        before: &PROCESS_POWER_THROTTLING_STATE,
        throttling: Throttling,
    ) -> PROCESS_POWER_THROTTLING_STATE {
        let (control, state) = match throttling {
            Throttling::BySystem => (0, 0),
            Throttling::HonourRequests => (IGNORE, 0),
            Throttling::IgnoreRequests => (IGNORE, IGNORE),
        };
        PROCESS_POWER_THROTTLING_STATE {
            Version: PROCESS_POWER_THROTTLING_CURRENT_VERSION,
            ControlMask: before.ControlMask & !IGNORE | control,
            StateMask: before.StateMask & !IGNORE | state,
        }
    }

    /// Error 87 is how older systems say that they do not know the bit, or the
    /// class of information (WindowsAppSDK#3263).
    fn refused(what: &str) -> Error {
        let cause = io::Error::last_os_error();
        if cause.raw_os_error() == Some(ERROR_INVALID_PARAMETER as i32) {
            return Error::unsupported(format!(
                "{what}: only Windows 11 and later throttle them, so leave it out"
            ));
        }
        Error::io(what, &cause)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn one_bit_changes_and_says_what_was_said() {
            let before = PROCESS_POWER_THROTTLING_STATE {
                Version: 1,
                ControlMask: 0b001,
                StateMask: 0b001,
            };
            assert_eq!(meaning(&before), Throttling::BySystem);
            for (said, masks) in [
                (Throttling::BySystem, (0b001, 0b001)),
                (Throttling::HonourRequests, (0b101, 0b001)),
                (Throttling::IgnoreRequests, (0b101, 0b101)),
            ] {
                let after = changed(&before, said);
                assert_eq!((after.ControlMask, after.StateMask), masks);
                assert_eq!(meaning(&after), said);
            }
        }
    }
}

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
