//! The OS calls that can carry out a blocking step.

use std::fmt;
use std::str::FromStr;

/// An OS call that blocks a thread for a while.
///
/// [`Method::Sleep`] and [`Method::Timer`] stand for whatever the machine
/// uses under that name; the others name one call. A machine that does not
/// have a call refuses it by name before anything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// The machine's ordinary sleep: `clock_nanosleep` on Linux, `Sleep` on
    /// Windows, `mach_wait_until` on macOS.
    Sleep,
    /// The most exact call the machine has: an absolute futex without slack on
    /// Linux, a waitable timer on Windows (high-resolution where the system has
    /// it), `mach_wait_until` on macOS.
    Timer,
    /// Linux and other Unix: `clock_nanosleep` on `CLOCK_MONOTONIC`, relative
    /// for a length, `TIMER_ABSTIME` for an instant.
    ClockNanosleep,
    /// Linux and Android: [`ClockNanosleep`](Self::ClockNanosleep) with the
    /// thread's timer slack lowered to 1 ns around the call, by four further
    /// calls; one if it is that low already.
    SlacklessNanosleep,
    /// Linux and other Unix: `clock_nanosleep` on `CLOCK_MONOTONIC` with
    /// `TIMER_ABSTIME`, for a length too: until so long after now.
    ClockNanosleepAbsolute,
    /// Unix: `nanosleep`, whose clock is the system's.
    Nanosleep,
    /// Unix: `usleep`, in whole microseconds, rounded up.
    Usleep,
    /// Linux: `timerfd_settime` and `read`. Timer slack does not apply to it.
    Timerfd,
    /// Windows: `Sleep`, in whole milliseconds, rounded up.
    WindowsSleep,
    /// Windows: `SleepEx`, not alertable, in whole milliseconds, rounded up.
    WindowsSleepEx,
    /// Windows: `WaitForSingleObject` on an event that nobody sets, with a
    /// timeout in whole milliseconds, rounded up.
    WaitForSingleObject,
    /// Windows: `WaitForMultipleObjects` on two such events.
    WaitForMultipleObjects,
    /// Windows: a plain waitable timer, on the same grid as `Sleep`.
    WaitableTimer,
    /// Windows 10 1803 and later: a waitable timer made with
    /// `CREATE_WAITABLE_TIMER_HIGH_RESOLUTION`.
    HighResolutionTimer,
    /// Windows: `SetTimer` without a window, and `GetMessage` for its message,
    /// which comes after at least 10 ms.
    WindowsMessageTimer,
    /// Unix: `ppoll` on Linux, `poll` elsewhere, with a timeout and nothing to
    /// wait for. Long ones get more slack than a sleep on Linux.
    Poll,
    /// Unix: `select` with a timeout and nothing to wait for, in whole
    /// microseconds, rounded up.
    Select,
    /// Linux: `epoll_wait` with a timeout and nothing to wait for, in whole
    /// milliseconds, rounded up.
    Epoll,
    /// A condition variable of the standard library that nobody notifies, with
    /// a timeout: a futex on Linux, `WaitOnAddress` on Windows, in whole
    /// milliseconds, rounded up (`SleepConditionVariableSRW` in a program that is
    /// built for Windows 7), `pthread_cond_timedwait_relative_np` on macOS. A
    /// signal does not end it.
    ConditionVariable,
    /// Linux: `FUTEX_WAIT_BITSET` on a word that nobody changes, until an
    /// instant of `CLOCK_MONOTONIC`.
    Futex,
    /// Linux and Android: [`Futex`](Self::Futex) with the thread's timer slack
    /// lowered to 1 ns around the call, by further calls as for
    /// [`SlacklessNanosleep`](Self::SlacklessNanosleep).
    SlacklessFutex,
    /// Linux: `timer_settime` with a signal to the thread, the last real-time
    /// one, and `sigtimedwait` for it. The signal stays blocked in the thread.
    /// Timer slack does not apply to it.
    PosixTimer,
    /// Linux: a receive with `SO_RCVTIMEO` from a local socket that nobody sends
    /// to. Its timeout, a microsecond at least, is counted in jiffies, as those
    /// of the network are.
    SocketTimeout,
    /// macOS: `mach_wait_until`.
    MachWaitUntil,
    /// macOS: `kevent64` with an `EVFILT_TIMER`.
    Kevent,
    /// `std::thread::sleep`, where punctual has no call of its own.
    ThreadSleep,
    /// Offers the CPU to other threads once, whatever the length: `sched_yield`
    /// on Unix, `Sleep(0)` on Windows.
    Yield,
}

impl Method {
    /// Every method, in the order in which they are listed to the user.
    pub const ALL: [Self; 27] = [
        Self::Sleep,
        Self::Timer,
        Self::Nanosleep,
        Self::Usleep,
        Self::ClockNanosleep,
        Self::ClockNanosleepAbsolute,
        Self::SlacklessNanosleep,
        Self::Select,
        Self::Poll,
        Self::Epoll,
        Self::ConditionVariable,
        Self::Futex,
        Self::SlacklessFutex,
        Self::Timerfd,
        Self::PosixTimer,
        Self::SocketTimeout,
        Self::WindowsSleep,
        Self::WindowsSleepEx,
        Self::WaitForSingleObject,
        Self::WaitForMultipleObjects,
        Self::WaitableTimer,
        Self::HighResolutionTimer,
        Self::WindowsMessageTimer,
        Self::MachWaitUntil,
        Self::Kevent,
        Self::ThreadSleep,
        Self::Yield,
    ];

    /// The name the user types and reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Timer => "timer",
            Self::ClockNanosleep => "clock_nanosleep",
            Self::SlacklessNanosleep => "clock_nanosleep+slack=1ns",
            Self::ClockNanosleepAbsolute => "clock_nanosleep+TIMER_ABSTIME",
            Self::Nanosleep => "nanosleep",
            Self::Usleep => "usleep",
            Self::Timerfd => "timerfd",
            Self::WindowsSleep => "Sleep",
            Self::WindowsSleepEx => "SleepEx",
            Self::WaitForSingleObject => "WaitForSingleObject",
            Self::WaitForMultipleObjects => "WaitForMultipleObjects",
            Self::WaitableTimer => "waitable-timer",
            Self::HighResolutionTimer => "high-resolution-timer",
            Self::WindowsMessageTimer => "WM_TIMER",
            Self::Poll => "poll",
            Self::Select => "select",
            Self::Epoll => "epoll_wait",
            Self::ConditionVariable => "condition-variable",
            Self::Futex => "futex",
            Self::SlacklessFutex => "futex+slack=1ns",
            Self::PosixTimer => "timer_settime",
            Self::SocketTimeout => "SO_RCVTIMEO",
            Self::MachWaitUntil => "mach_wait_until",
            Self::Kevent => "kevent",
            Self::ThreadSleep => "thread::sleep",
            Self::Yield => "yield",
        }
    }
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
