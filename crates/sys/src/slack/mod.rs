//! Timer slack: how much later than asked the system may wake this thread, so
//! that it can serve several wake-ups with one interrupt.
//!
//! Linux has it per thread, 50 us unless somebody changed it, and it goes to
//! every thread and process that the thread starts. It applies to sleeps,
//! `poll`, `select` and futexes; not to timerfd, and not to threads under a
//! real-time policy (man page PR_SET_TIMERSLACK). Other systems have nothing of
//! the kind that a thread could set; there everything here says so.

use crate::Error;
use punctual_core::Nanos;
use std::marker::PhantomData;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[path = "fallback.rs"]
mod platform;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use platform::without;

/// The timer slack of the calling thread; `None` where there is no such thing.
///
/// A thread under a real-time policy has none, shown as zero by newer kernels.
pub fn current() -> Option<Nanos> {
    platform::current()
}

/// Sets the timer slack of the calling thread, and of the threads and
/// processes it will start. Returns the slack that is in force now, read back
/// from the system.
///
/// # Errors
/// Unsupported where there is no timer slack. Range for zero, which Linux would
/// take as "back to the default" (man page PR_SET_TIMERSLACK): the least is 1 ns.
///
/// # Platform notes
/// Linux ignores the call for threads under a real-time policy; the slack
/// returned shows it.
pub fn set(slack: Nanos) -> Result<Nanos, Error> {
    if slack.is_zero() {
        return Err(Error::range(
            "timer slack cannot be 0 ns, which Linux takes as its default: ask for 1 ns or more",
        ));
    }
    platform::set(slack)
}

/// Holds a timer slack for the calling thread until it is dropped.
///
/// # Errors
/// As [`set`].
pub fn hold(slack: Nanos) -> Result<Guard, Error> {
    let before = current();
    let granted = set(slack)?;
    Ok(Guard {
        granted,
        before: before.unwrap_or(granted),
        thread: PhantomData,
    })
}

/// A timer slack held for the thread that made this; dropping it brings back
/// the slack of before. It cannot leave its thread.
#[derive(Debug)]
#[must_use = "the slack is restored when the guard is dropped"]
pub struct Guard {
    granted: Nanos,
    before: Nanos,
    thread: PhantomData<*const ()>,
}

impl Guard {
    /// The slack that the system put in force, which may not be the one asked
    /// for.
    pub fn granted(&self) -> Nanos {
        self.granted
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The value was in force before, so the system takes it back; a failure
        // would leave the finer slack, which costs power and nothing else.
        let _ = platform::set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, because slack stays with the thread.
    fn apart(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn a_guard_brings_back_what_was() {
        apart(|| {
            let Some(before) = current() else {
                let refused = hold(Nanos::new(1)).unwrap_err();
                assert!(refused.is_unsupported());
                return;
            };
            {
                let outer = hold(Nanos::from_us(20)).unwrap();
                assert_eq!(outer.granted(), current().unwrap());
                let inner = hold(Nanos::new(1)).unwrap();
                assert_eq!(inner.granted(), current().unwrap());
                drop(inner);
                assert_eq!(outer.granted(), current().unwrap());
            }
            assert_eq!(current(), Some(before));
        });
    }

    #[test]
    fn zero_is_no_slack() {
        assert!(set(Nanos::ZERO).unwrap_err().is_range());
    }
}
