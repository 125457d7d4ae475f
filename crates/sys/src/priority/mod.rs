//! How much the calling thread matters to the scheduler of this system.
//!
//! [`Priority`] is what a thread asks for; what its names mean on each system
//! is written there. [`current`] is what the system says, in its own words.

use crate::Error;
use punctual_core::setting::Priority;
use std::marker::PhantomData;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
/// A system whose priorities punctual does not know.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows
)))]
mod platform {
    use crate::Error;
    use punctual_core::setting::Priority;
    use std::convert::Infallible;

    pub(super) fn current() -> Option<String> {
        None
    }

    pub(super) fn set(_priority: Priority) -> Result<(), Error> {
        Err(unsupported())
    }

    #[derive(Debug)]
    pub(super) struct Before(Infallible);

    impl Before {
        pub(super) fn of_thread() -> Result<Self, Error> {
            Err(unsupported())
        }

        pub(super) fn can_come_back(&self, _priority: Priority) -> Result<(), Error> {
            match self.0 {}
        }

        pub(super) fn restore(&self) -> Result<(), Error> {
            match self.0 {}
        }
    }

    fn unsupported() -> Error {
        Error::unsupported("punctual knows no thread priorities of this system: leave them out")
    }
}

/// How the calling thread is scheduled, in the words of its system, such as
/// `SCHED_OTHER, nice 0`; `None` where the system does not tell.
pub fn current() -> Option<String> {
    platform::current()
}

/// Changes the priority of the calling thread for good.
///
/// # Errors
/// After an error the thread has the priority that it had.
/// Permission when the user must not raise it that far, with what to do.
/// Unsupported where a thread cannot change it.
///
/// # Platform notes
/// Linux: the threads and processes that the thread starts get it too.
pub fn set(priority: Priority) -> Result<(), Error> {
    platform::set(priority)
}

/// Holds a priority for the calling thread until it is dropped.
///
/// # Errors
/// As [`set`]. Also permission when this user could not bring back what the
/// thread had: on Linux, only a privileged user may raise a priority again.
pub fn hold(priority: Priority) -> Result<Guard, Error> {
    let before = platform::Before::of_thread()?;
    before.can_come_back(priority)?;
    let guard = Guard {
        before,
        thread: PhantomData,
    };
    // A refused change that is half done is undone by the guard.
    set(priority)?;
    Ok(guard)
}

/// A priority held for the thread that made this; dropping it brings back what
/// the thread had then, so of several the last goes first. It cannot leave its
/// thread.
#[derive(Debug)]
#[must_use = "the priority is restored when the guard is dropped"]
pub struct Guard {
    before: platform::Before,
    thread: PhantomData<*const ()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // That it may come back was looked at when the guard was made.
        let _ = self.before.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that was real-time has lost its slack on newer kernels.
    #[test]
    fn the_slack_of_a_thread_outlasts_a_guard() {
        std::thread::spawn(|| {
            let slack = crate::slack::set(punctual_core::Nanos::from_us(7)).ok();
            drop(hold(Priority::RealTime).ok());
            if slack.is_some() {
                assert_eq!(crate::slack::current(), slack);
            }
        })
        .join()
        .unwrap();
    }

    /// A guard that keeps the slack low goes in the middle.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn a_kept_slack_comes_back_before_and_after_a_guard() {
        use crate::slack::{Kept, current};

        std::thread::spawn(|| {
            let before = current();
            let mut kept = Kept::new();
            kept.lower();
            let guard = hold(Priority::Background);
            drop(kept);
            drop(guard);
            assert_eq!(current(), before);

            let guard = hold(Priority::Background);
            let mut kept = Kept::new();
            kept.lower();
            let lowered = current();
            drop(guard);
            assert_eq!(current(), lowered);
            drop(kept);
            assert_eq!(current(), before);
        })
        .join()
        .unwrap();
    }

    /// Either the guard changes the thread and brings it back, or it says why
    /// not and leaves the thread alone.
    #[test]
    fn a_guard_brings_back_what_was() {
        for priority in Priority::ALL {
            std::thread::spawn(move || {
                let before = current();
                match hold(priority) {
                    Ok(guard) => {
                        if priority != Priority::Normal {
                            assert_ne!(current(), before, "{priority}");
                        }
                        drop(guard);
                    }
                    Err(error) => {
                        assert!(error.is_permission() || error.is_unsupported(), "{error}");
                    }
                }
                assert_eq!(current(), before, "{priority}");
            })
            .join()
            .unwrap();
        }
    }
}
