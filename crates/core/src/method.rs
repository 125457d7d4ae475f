//! The OS calls that can carry out a blocking step.

use std::fmt;
use std::str::FromStr;

/// When naps with a call may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    AtAnyTime,
    /// On ticks about 0.5 ms apart.
    OnFineTicks,
    /// On ticks up to 15.6 ms apart, for lengths in nanoseconds or in whole
    /// milliseconds.
    OnTicks,
    OnTicksInMs,
    /// Late by a share of their length.
    LateByAShare,
}

/// The enum, a list of all variants, their names and when their naps end, so that each is written
/// once. Naps of a call that has no such word end at any time.
macro_rules! methods {
    ($($(#[$doc:meta])* $method:ident = $name:literal $($ends:ident)?,)*) => {
        /// An OS call that blocks a thread for a while.
        ///
        /// [`Method::Sleep`] and [`Method::Timer`] stand for whatever the machine
        /// uses under that name; the others name one call. A machine that does not
        /// have a call refuses it by name before anything runs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $method,)*
        }

        impl Method {
            /// Every method, in the order in which they are listed to the user.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$method),*];

            /// The name the user types and reads.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$method => $name,)*
                }
            }

            pub(crate) const fn ends(self) -> Ends {
                match self {
                    $($(Self::$method => Ends::$ends,)?)*
                    _ => Ends::AtAnyTime,
                }
            }
        }
    };
}

methods! {
    /// The machine's ordinary sleep: `clock_nanosleep` on Linux, `Sleep` on
    /// Windows, `mach_wait_until` on macOS.
    Sleep = "sleep",
    /// The most exact call the machine has: an absolute futex without slack on
    /// Linux, a waitable timer on Windows (high-resolution where the system has
    /// it), `mach_wait_until` on macOS.
    Timer = "timer",
    /// Unix: `nanosleep`, whose clock is the system's.
    Nanosleep = "nanosleep",
    /// Unix: `usleep`, in whole microseconds, rounded up.
    Usleep = "usleep",
    /// Linux and other Unix: `clock_nanosleep` on `CLOCK_MONOTONIC`, relative
    /// for a length, `TIMER_ABSTIME` for an instant.
    ClockNanosleep = "clock_nanosleep",
    /// Linux and other Unix: `clock_nanosleep` on `CLOCK_MONOTONIC` with
    /// `TIMER_ABSTIME`, for a length too: until so long after now.
    ClockNanosleepAbsolute = "clock_nanosleep+TIMER_ABSTIME",
    /// Linux and Android: [`ClockNanosleep`](Self::ClockNanosleep) with the
    /// thread's timer slack lowered to 1 ns around the call, by four further
    /// calls; one if it is that low already.
    SlacklessNanosleep = "clock_nanosleep+slack=1ns",
    /// Unix: `select` with a timeout and nothing to wait for, in whole
    /// microseconds, rounded up.
    Select = "select",
    /// Unix: `ppoll` on Linux, `poll` elsewhere, with a timeout and nothing to
    /// wait for. Long ones get more slack than a sleep on Linux.
    Poll = "poll",
    /// Linux: `epoll_wait` with a timeout and nothing to wait for, in whole
    /// milliseconds, rounded up.
    Epoll = "epoll_wait",
    /// A condition variable of the standard library that is never notified, with a timeout. On
    /// Linux it is a futex. On Windows it is `WaitOnAddress`, in whole milliseconds, rounded up
    /// (`SleepConditionVariableSRW` in a program that is built for Windows 7). On macOS it is
    /// `pthread_cond_timedwait_relative_np`. A signal does not end it.
    ConditionVariable = "condition-variable",
    /// Linux: `FUTEX_WAIT_BITSET` on a word that never changes, until an instant of
    /// `CLOCK_MONOTONIC`.
    Futex = "futex",
    /// Linux and Android: [`Futex`](Self::Futex) with the thread's timer slack
    /// lowered to 1 ns around the call, by further calls as for
    /// [`SlacklessNanosleep`](Self::SlacklessNanosleep).
    SlacklessFutex = "futex+slack=1ns",
    /// Linux: `timerfd_settime` and `read`. Timer slack does not apply to it.
    Timerfd = "timerfd",
    /// Linux: `timer_settime` with a signal to the thread, the last real-time
    /// one, and `sigtimedwait` for it. The signal stays blocked in the thread.
    /// Timer slack does not apply to it.
    PosixTimer = "timer_settime",
    /// Linux: `setitimer(ITIMER_REAL)`, in whole microseconds, rounded up, and `poll` for what the handler of
    /// its signal writes. A process has one such timer: where another thread waits by it, it is refused. Timer slack
    /// does not apply to it.
    IntervalTimer = "setitimer",
    /// Linux: a receive with `SO_RCVTIMEO` from a local socket without a sender. Its timeout, a
    /// microsecond at least, is counted in jiffies, as those of the network are.
    SocketTimeout = "SO_RCVTIMEO",
    /// Windows: `Sleep`, in whole milliseconds, rounded up.
    WindowsSleep = "Sleep" OnTicksInMs,
    /// Windows: `SleepEx`, not alertable, in whole milliseconds, rounded up.
    WindowsSleepEx = "SleepEx" OnTicksInMs,
    /// Windows: `WaitForSingleObject` on an event that is never set, with a timeout in whole
    /// milliseconds, rounded up.
    WaitForSingleObject = "WaitForSingleObject" OnTicksInMs,
    /// Windows: `WaitForMultipleObjects` on two such events.
    WaitForMultipleObjects = "WaitForMultipleObjects" OnTicksInMs,
    /// Windows: a plain waitable timer, on the same grid as `Sleep`.
    WaitableTimer = "waitable-timer" OnTicks,
    /// Windows 10 1803 and later: a waitable timer made with
    /// `CREATE_WAITABLE_TIMER_HIGH_RESOLUTION`.
    HighResolutionTimer = "high-resolution-timer" OnFineTicks,
    /// Windows: `SetTimer` without a window, and `GetMessage` for its message,
    /// which comes after at least 10 ms.
    WindowsMessageTimer = "WM_TIMER" OnTicksInMs,
    /// macOS: `mach_wait_until`.
    MachWaitUntil = "mach_wait_until" LateByAShare,
    /// macOS: `kevent64` with an `EVFILT_TIMER`.
    Kevent = "kevent" LateByAShare,
    /// `std::thread::sleep`, where punctual has no call of its own.
    ThreadSleep = "thread::sleep",
    /// Offers the CPU to other threads once, whatever the length: `sched_yield`
    /// on Unix, `Sleep(0)` on Windows.
    Yield = "yield",
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|m| m.name() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|m| m.name()).collect();
                format!(
                    "there is no method `{text}`; the methods are {}",
                    names.join(", ")
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::{Defaults, StrategySpec};

    #[test]
    fn names_read_back() {
        for method in Method::ALL {
            assert_eq!(method.name().parse::<Method>().unwrap(), method);
        }
        // A parameter of a strategy, whose value has an equals sign of its own.
        let text = "system:method=clock_nanosleep+slack=1ns";
        let spec = StrategySpec::parse(text, Defaults::ELSEWHERE).unwrap();
        assert!(spec.method() == Some(Method::SlacklessNanosleep));
        assert_eq!(spec.to_string(), text);
        assert!("snooze".parse::<Method>().unwrap_err().contains("timerfd"));
    }
}
