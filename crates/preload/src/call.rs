//! The calls whose waits are emulated.

use punctual_core::Method;

macro_rules! calls {
    ($($call:ident = $name:literal: $kind:ident,)*) => {
        /// A function of libc or a call of the kernel that waits.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Call {
            $(#[doc = concat!("`", $name, "`")] $call,)*
        }

        impl Call {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$call),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$call => $name,)*
                }
            }

            /// The calls that a plain port of a C program would use instead, the best first.
            const fn ported(self) -> &'static [Method] {
                match self {
                    $(Self::$call => $kind,)*
                }
            }
        }
    };
}

calls! {
    Nanosleep = "nanosleep": SLEEP,
    ClockNanosleep = "clock_nanosleep": CLOCK_SLEEP,
    Usleep = "usleep": USLEEP,
    Sleep = "sleep": SLEEP,
    ThrdSleep = "thrd_sleep": SLEEP,
    Poll = "poll": POLL,
    Ppoll = "ppoll": POLL,
    Select = "select": SELECT,
    SelectNothing = "select(0)": SELECT,
    Pselect = "pselect": SELECT,
    EpollWait = "epoll_wait": EPOLL,
    EpollPwait = "epoll_pwait": EPOLL,
    EpollPwait2 = "epoll_pwait2": EPOLL,
    CondTimedwait = "pthread_cond_timedwait": CONDITION,
    CondClockwait = "pthread_cond_clockwait": CONDITION,
    MutexTimedlock = "pthread_mutex_timedlock": LOCK,
    SemTimedwait = "sem_timedwait": LOCK,
    SemClockwait = "sem_clockwait": LOCK,
    Sigtimedwait = "sigtimedwait": LOCK,
    Futex = "futex": CONDITION,
    CondTimedwaitEvent = "pthread_cond_timedwait(event)": CONDITION,
    TimerfdSettime = "timerfd_settime": TIMER,
}

/// `Sleep` on Windows.
const SLEEP: &[Method] = &[Method::WindowsSleep, Method::Nanosleep];
const CLOCK_SLEEP: &[Method] = &[
    Method::WindowsSleep,
    Method::ClockNanosleep,
    Method::Nanosleep,
];
const USLEEP: &[Method] = &[Method::WindowsSleep, Method::Usleep];
/// A wait for objects with a timeout.
const POLL: &[Method] = &[Method::WaitForMultipleObjects, Method::Poll];
const SELECT: &[Method] = &[Method::WaitForMultipleObjects, Method::Select];
const EPOLL: &[Method] = &[
    Method::WaitForMultipleObjects,
    Method::Epoll,
    Method::Kevent,
];
/// `SleepConditionVariableSRW`, since Vista.
const CONDITION: &[Method] = &[Method::ConditionVariable, Method::WaitForSingleObject];
const LOCK: &[Method] = &[
    Method::WaitForSingleObject,
    Method::Futex,
    Method::ConditionVariable,
];

/// A timer that is set, and waited for by another call. Windows has waitable timers.
const TIMER: &[Method] = &[Method::WaitableTimer, Method::Timerfd, Method::Kevent];

impl Call {
    /// The call of number `number`.
    pub fn of(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// The call of an OS with these methods that a plain port of a C program waits by instead.
    pub fn method(self, methods: &[Method]) -> Method {
        let ported = self.ported().iter();
        let found = ported.copied().find(|method| methods.contains(method));
        found.unwrap_or(methods[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_calls() {
        for (number, &call) in Call::ALL.iter().enumerate() {
            assert_eq!(Call::of(number as u64), Some(call));
            assert_eq!(call as usize, number);
        }
        assert_eq!(Call::of(99), None);
    }

    #[test]
    fn a_port_waits_by_what_the_system_has() {
        let xp = [Method::WindowsSleep, Method::WaitForSingleObject];
        assert_eq!(Call::Usleep.method(&xp), Method::WindowsSleep);
        assert_eq!(Call::CondTimedwait.method(&xp), Method::WaitForSingleObject);
        assert_eq!(Call::Poll.method(&xp), Method::WindowsSleep);
        let mac = [Method::MachWaitUntil, Method::Nanosleep, Method::Kevent];
        assert_eq!(Call::EpollWait.method(&mac), Method::Kevent);
        assert_eq!(Call::SemTimedwait.method(&mac), Method::MachWaitUntil);
    }
}
