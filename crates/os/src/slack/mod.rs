//! Timer slack, of this thread as `punctual-sys` has it, and of the threads of any
//! process.

pub use punctual_sys::slack::*;

use crate::Error;
use punctual_core::Nanos;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "process.rs"]
mod platform;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod platform {
    use super::{Error, Nanos, ThreadSlack};

    pub(super) fn of(_pid: u32) -> Result<Vec<ThreadSlack>, Error> {
        Err(unsupported())
    }

    pub(super) fn set_of(_pid: u32, _slack: Nanos) -> Result<Vec<ThreadSlack>, Error> {
        Err(unsupported())
    }

    pub(super) fn started(_pid: u32) -> Option<u64> {
        None
    }

    pub(super) fn threads(_pid: u32) -> Result<Vec<u32>, Error> {
        Err(unsupported())
    }

    pub(super) fn restore(_threads: &[ThreadSlack]) -> Result<(), Error> {
        Err(unsupported())
    }

    fn unsupported() -> Error {
        Error::unsupported("timer slack is a Linux setting: this system has none, so leave it out")
    }
}

/// A thread, by its number in the system, and its timer slack.
pub type ThreadSlack = (u32, Nanos);

/// The timer slack of every thread of process number `pid`, in ascending order
/// of the threads' numbers. A thread that ends meanwhile is left out.
///
/// # Errors
/// Unsupported where there is no timer slack. Range when there is no such
/// process. Permission when it is somebody else's: it takes root or
/// CAP_SYS_NICE.
pub fn of(pid: u32) -> Result<Vec<ThreadSlack>, Error> {
    platform::of(pid)
}

/// Sets the timer slack of every thread of process number `pid`, and returns
/// what is in force then. The threads that it starts later get it from these.
///
/// When one of them refuses, those before it have the new slack.
///
/// # Errors
/// As [`of`]. Range for zero, as [`set`].
///
/// # Platform notes
/// Through `/proc/PID/timerslack_ns`, since Linux 4.6 (proc_pid_timerslack_ns(5)).
pub fn set_of(pid: u32, slack: Nanos) -> Result<Vec<ThreadSlack>, Error> {
    refuse_zero(slack)?;
    platform::set_of(pid, slack)
}

/// Holds a timer slack for every thread of process number `pid` until it is
/// dropped.
///
/// # Errors
/// As [`set_of`]; then every thread has what it had before.
pub fn hold_of(pid: u32, slack: Nanos) -> Result<ProcessGuard, Error> {
    refuse_zero(slack)?;
    let guard = ProcessGuard {
        pid,
        started: platform::started(pid),
        before: of(pid)?,
    };
    guard.set(slack)?;
    Ok(guard)
}

/// A timer slack held for all threads of a process; dropping it brings back
/// what each of them had. A thread that was started meanwhile gets what the
/// first thread of the process had, from which it would have come by default.
#[derive(Debug)]
#[must_use = "the slack is restored when the guard is dropped"]
pub struct ProcessGuard {
    pid: u32,
    /// The number of a process that has ended may be given to another.
    started: Option<u64>,
    before: Vec<ThreadSlack>,
}

impl ProcessGuard {
    /// What each thread had, as [`of`].
    pub fn before(&self) -> &[ThreadSlack] {
        &self.before
    }

    /// Changes the slack that is held, and returns what is in force then.
    ///
    /// # Errors
    /// As [`set_of`]. Range also when the process has ended.
    pub fn set(&self, slack: Nanos) -> Result<Vec<ThreadSlack>, Error> {
        if self.has_ended() {
            return Err(Error::range(format!(
                "process {} has ended: there is no timer slack to change",
                self.pid
            )));
        }
        set_of(self.pid, slack)
    }

    /// Brings back what each thread had now, and says whether that worked. A
    /// process that has ended is as it should be.
    ///
    /// # Errors
    /// The first refusal; the other threads are tried all the same.
    pub fn restore(mut self) -> Result<(), Error> {
        let done = self.bring_back();
        self.before.clear();
        done
    }

    fn bring_back(&self) -> Result<(), Error> {
        if self.before.is_empty() || self.has_ended() {
            return Ok(());
        }
        match platform::threads(self.pid) {
            Ok(now) => platform::restore(&brought_back(&self.before, &now)),
            // It has ended just now.
            Err(error) if error.is_range() => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn has_ended(&self) -> bool {
        platform::started(self.pid) != self.started
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        // Whoever wants to know calls `restore`.
        let _ = self.bring_back();
    }
}

/// What each thread is to have that is there now. Those that have ended are left
/// out: their numbers may be those of other processes.
fn brought_back(before: &[ThreadSlack], now: &[u32]) -> Vec<ThreadSlack> {
    let Some(&(_, of_first)) = before.first() else {
        return Vec::new();
    };
    let had = |thread: u32| before.iter().find(|before| before.0 == thread);
    let slack = |thread: u32| had(thread).map_or(of_first, |before| before.1);
    now.iter().map(|&thread| (thread, slack(thread))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_thread_gets_what_the_first_had_and_an_ended_one_nothing() {
        let us = Nanos::from_us;
        let before = [(7, us(50)), (8, us(3)), (9, us(2))];
        let now = [7, 9, 11];
        assert_eq!(
            brought_back(&before, &now),
            [(7, us(50)), (9, us(2)), (11, us(50))]
        );
        assert_eq!(brought_back(&[], &now), []);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_slack() {
        let error = of(u32::MAX).unwrap_err();
        assert!(error.is_range() || error.is_unsupported(), "{error}");
        assert!(set_of(1, Nanos::ZERO).unwrap_err().is_range());
        let error = set_of(u32::MAX, Nanos::new(1)).unwrap_err();
        assert!(error.is_range() || error.is_unsupported(), "{error}");
    }
}
