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
    /// The machine's timer object: timerfd on Linux, a waitable timer on
    /// Windows (high-resolution where the system has it), `mach_wait_until`
    /// on macOS.
    Timer,
    /// Linux and other Unix: `clock_nanosleep` on `CLOCK_MONOTONIC`, relative
    /// for a length, `TIMER_ABSTIME` for an instant.
    ClockNanosleep,
    /// Linux and Android: [`ClockNanosleep`](Self::ClockNanosleep) with the
    /// thread's timer slack lowered to 1 ns around the call, by three further
    /// calls; one if it is that low already.
    SlacklessNanosleep,
    /// Linux: `timerfd_settime` and `read`. Timer slack does not apply to it.
    Timerfd,
    /// Windows: `Sleep`, in whole milliseconds, rounded up.
    WindowsSleep,
    /// Windows: a plain waitable timer, on the same grid as `Sleep`.
    WaitableTimer,
    /// Windows 10 1803 and later: a waitable timer made with
    /// `CREATE_WAITABLE_TIMER_HIGH_RESOLUTION`.
    HighResolutionTimer,
    /// Windows: `SetTimer`, whose message comes after at least 10 ms.
    WindowsMessageTimer,
    /// Linux: `poll` with a timeout and nothing to wait for, as `select` and
    /// `epoll_wait`. Long ones get more slack than a sleep.
    Poll,
    /// Linux: a receive with `SO_RCVTIMEO`, whose timeout is counted in
    /// jiffies, as those of the network are.
    SocketTimeout,
    /// macOS: `mach_wait_until`.
    MachWaitUntil,
    /// `std::thread::sleep`, where punctual has no call of its own.
    ThreadSleep,
}

impl Method {
    /// Every method, in the order in which they are listed to the user.
    pub const ALL: [Self; 13] = [
        Self::Sleep,
        Self::Timer,
        Self::ClockNanosleep,
        Self::SlacklessNanosleep,
        Self::Timerfd,
        Self::WindowsSleep,
        Self::WaitableTimer,
        Self::HighResolutionTimer,
        Self::WindowsMessageTimer,
        Self::Poll,
        Self::SocketTimeout,
        Self::MachWaitUntil,
        Self::ThreadSleep,
    ];

    /// The name the user types and reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sleep => "sleep",
            Self::Timer => "timer",
            Self::ClockNanosleep => "clock_nanosleep",
            Self::SlacklessNanosleep => "clock_nanosleep+slack=1ns",
            Self::Timerfd => "timerfd",
            Self::WindowsSleep => "Sleep",
            Self::WaitableTimer => "waitable-timer",
            Self::HighResolutionTimer => "high-resolution-timer",
            Self::WindowsMessageTimer => "WM_TIMER",
            Self::Poll => "poll",
            Self::SocketTimeout => "SO_RCVTIMEO",
            Self::MachWaitUntil => "mach_wait_until",
            Self::ThreadSleep => "thread::sleep",
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
    use crate::strategies::{Defaults, Spec};

    #[test]
    fn names_read_back() {
        for method in Method::ALL {
            assert_eq!(method.name().parse::<Method>().unwrap(), method);
        }
        // A parameter of a strategy, whose value has an equals sign of its own.
        let text = "system:method=clock_nanosleep+slack=1ns";
        let spec = Spec::parse(text, Defaults::ELSEWHERE).unwrap();
        assert!(spec.methods().iter().eq([Method::SlacklessNanosleep]));
        assert_eq!(spec.to_string(), text);
        assert!("usleep".parse::<Method>().unwrap_err().contains("timerfd"));
    }
}
