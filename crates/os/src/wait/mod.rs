//! Blocking the calling thread with the calls that this system has.
//!
//! | system | [`Method::Sleep`] | [`Method::Timer`] | and besides |
//! |---|---|---|---|
//! | Linux, Android | `clock_nanosleep` | futex without slack | `nanosleep`, `usleep`, `clock_nanosleep` absolute and without slack, `select`, `ppoll`, `epoll_wait`, futex, timerfd, `timer_settime`, `setitimer`, `SO_RCVTIMEO` |
//! | FreeBSD, NetBSD, DragonFly, illumos, Solaris | `clock_nanosleep` | `clock_nanosleep` | `nanosleep`, `usleep`, `clock_nanosleep` absolute, `select`, `poll` |
//! | macOS | `mach_wait_until` | `mach_wait_until` | `nanosleep`, `usleep`, `select`, `poll`, `kevent64` |
//! | Windows | `Sleep` | waitable timer, high-resolution where there is one | `SleepEx`, `WaitForSingleObject`, `WaitForMultipleObjects`, plain waitable timer, `SetTimer` |
//! | anything else | `thread::sleep` | `thread::sleep` | |
//!
//! A condition variable, `std::thread::sleep` and offering the CPU can be asked
//! for by name everywhere, to compare with.
//!
//! A platform has one file with its calls; those of several systems of Unix are in `posix`. The
//! guarantees of a [`Sleeper`] are stated once, in its own file.
//!
//! Times are rounded up to the unit of a call, so that it is not asked for less
//! than the limit.

use crate::Error;
use crate::clock::{self, Host, Tick};
use crate::nap::{Nap, Slack};
use punctual_core::{Limit, Method, Reason};
use std::sync::{Condvar, Mutex, PoisonError};

mod sleeper;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
// The systems whose C library has `clock_nanosleep` on the monotonic clock;
// OpenBSD and Apple's other systems do not.
#[cfg(any(
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "dragonfly",
    target_os = "illumos",
    target_os = "solaris",
))]
#[path = "unix.rs"]
mod platform;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows,
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "dragonfly",
    target_os = "illumos",
    target_os = "solaris",
)))]
mod platform {
    use super::{no_such_call, offer_cpu, refused, thread_sleep};
    use crate::Error;
    use crate::clock::Host;
    use punctual_core::{Limit, Method, Reason};

    pub(super) const METHODS: &[Method] = &[
        Method::ConditionVariable,
        Method::ThreadSleep,
        Method::Yield,
    ];

    /// No call but those that there are everywhere.
    #[derive(Debug, Default)]
    pub(super) struct Calls;

    impl Calls {
        pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
            match method {
                Method::Sleep | Method::Timer => Ok(Method::ThreadSleep),
                Method::Yield => Ok(method),
                other => Err(no_such_call(other)),
            }
        }

        pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
            match method {
                Method::Yield => offer_cpu(),
                Method::Sleep | Method::Timer => thread_sleep(limit),
                _ => refused(limit),
            }
        }
    }
}

pub use sleeper::Sleeper;

/// The calls this system has, for listings and error texts.
///
/// [`Method::Sleep`] and [`Method::Timer`] are accepted everywhere as well and
/// stand for one of these; [`Sleeper::prepare`] says which.
pub fn methods() -> &'static [Method] {
    platform::METHODS
}

/// The calls of one waiter: those of the platform, and what the standard library has everywhere.
#[derive(Debug, Default)]
struct Calls {
    platform: platform::Calls,
    condition_variable: ConditionVariable,
}

impl Calls {
    fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::ConditionVariable | Method::ThreadSleep => Ok(method),
            _ => self.platform.prepare(method),
        }
    }

    fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::ConditionVariable => self.condition_variable.block(limit),
            Method::ThreadSleep => thread_sleep(limit),
            _ => self.platform.block(method, limit),
        }
    }
}

/// An event that is never notified.
#[derive(Debug, Default)]
struct ConditionVariable {
    mutex: Mutex<()>,
    condition: Condvar,
}

impl ConditionVariable {
    /// The standard library goes on when a signal interrupts it, so only a spurious
    /// wake is told apart from the end.
    fn block(&mut self, limit: Limit<Host>) -> Reason {
        let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        let length = limit.length(clock::now());
        let waited = self.condition.wait_timeout(guard, length.into());
        let (_guard, ended) = waited.unwrap_or_else(PoisonError::into_inner);
        if ended.timed_out() {
            Reason::Timer
        } else {
            Reason::Interrupted
        }
    }
}

/// Blocks with `std::thread::sleep`, which restarts by itself when a signal
/// interrupts it.
fn thread_sleep(limit: Limit<Host>) -> Reason {
    std::thread::sleep(limit.length(clock::now()).into());
    Reason::Timer
}

/// Offers the CPU to others, whatever the length.
#[cfg(not(windows))]
fn offer_cpu() -> Reason {
    std::thread::yield_now();
    Reason::Ran
}

/// Blocks although the system refused the call that was asked for: as the
/// library's own waits do, which have another call to fall back on.
#[cold]
fn refused(limit: Limit<Host>) -> Reason {
    nap(limit, Slack::Leave)
}

/// Blocks as the library's own waits do.
fn nap(limit: Limit<Host>, slack: Slack) -> Reason {
    Nap::new().until(end_of(limit), slack, None)
}

/// The instant at which a block ends that begins now.
fn end_of(limit: Limit<Host>) -> Tick {
    match limit {
        Limit::For(length) => clock::now() + length,
        Limit::Until(instant) => instant,
    }
}

/// `method` is not one of this system's.
fn no_such_call(method: Method) -> Error {
    let names: Vec<_> = methods().iter().map(|m| m.name()).collect();
    Error::unsupported(format!(
        "this system has no `{method}`: use sleep, timer, or one of {}",
        names.join(", ")
    ))
}

/// A process has one interval timer, so the tests that use every method take turns.
#[cfg(test)]
fn in_turn() -> std::sync::MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
