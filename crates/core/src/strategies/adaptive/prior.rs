//! What is believed of an OS call before it was made once.

use crate::method::Method;
use crate::time::Nanos;

use super::class::Class;

/// How late a call is believed to wake a thread. Beliefs are worth half a
/// sample: they only have to be of the right order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prior {
    /// From, and up to, in nanoseconds.
    pub(super) over_ns: (f32, f32),
    /// The part of its length by which it is later than that.
    pub(super) share: f32,
}

/// The CPU time of a nap before one was metered: a few system calls, two
/// context switches and the way out of an idle CPU on bare metal.
pub(super) const CPU_NS: f32 = 5_000.0;

/// xnu lets timers of threads of the default class be late by an eighth of
/// their length, but by no more than a millisecond (facts of xnu's
/// `timer_coalescing` tunables: shift 3, cap 1 ms).
const MACOS_SHARE: f32 = 1.0 / 8.0;
const MACOS_MOST_NS: f32 = 1e6;

impl Prior {
    /// Of naps by `method` whose length is of `class`.
    pub(super) fn of(method: Method, class: Class) -> Self {
        let between = |from_us: f32, to_us: f32| Self {
            over_ns: (from_us * 1e3, to_us * 1e3),
            share: 0.0,
        };
        match method {
            // What waking up takes.
            Method::SlacklessNanosleep | Method::Timerfd | Method::PosixTimer => between(5.0, 60.0),
            // That, and the usual slack of 50 us.
            Method::ClockNanosleep
            | Method::ClockNanosleepAbsolute
            | Method::Nanosleep
            | Method::Usleep
            | Method::Select
            | Method::Poll
            | Method::Epoll
            | Method::Futex => between(50.0, 110.0),
            // The usual 64 ticks a second.
            Method::WindowsSleep
            | Method::WindowsSleepEx
            | Method::WaitForSingleObject
            | Method::WaitForMultipleObjects
            | Method::WaitableTimer => between(1.0, 16_000.0),
            Method::HighResolutionTimer => between(1.0, 1_000.0),
            Method::WindowsMessageTimer => between(1.0, 26_000.0),
            Method::SocketTimeout => between(1.0, 10_000.0),
            Method::MachWaitUntil | Method::Kevent => {
                let shortest = class.reference_ns() * MACOS_SHARE;
                let (late, share) = if shortest < MACOS_MOST_NS {
                    (shortest, MACOS_SHARE)
                } else {
                    (MACOS_MOST_NS, 0.0)
                };
                Self {
                    over_ns: (late + 10e3, late + 60e3),
                    share,
                }
            }
            Method::Sleep | Method::Timer | Method::ConditionVariable | Method::ThreadSleep => {
                between(5.0, 110.0)
            }
            // It comes back at once, and so never late.
            Method::Yield => between(1.0, 5.0),
        }
    }
}

/// The step in which a call counts its lengths: asking for less than a whole
/// one more would make it a whole one.
pub(super) fn unit(method: Method) -> Nanos {
    match method {
        Method::WindowsSleep
        | Method::WindowsSleepEx
        | Method::WaitForSingleObject
        | Method::WaitForMultipleObjects
        | Method::WindowsMessageTimer
        | Method::Epoll => Nanos::from_ms(1),
        Method::Usleep | Method::Select => Nanos::from_us(1),
        _ => Nanos::new(1),
    }
}
