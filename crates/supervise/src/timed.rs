//! The time of each call: its kind and its place.

use libc::{c_int, clockid_t, user_regs_struct};
use punctual_preload::Call;

use crate::filter::{FUTEX_OPERATION, FUTEX_WAITS};
use crate::tracee::argument;

const SECOND: u64 = 1_000_000_000;

/// A call that waits for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) call: Call,
    /// The number of the argument that has the time, or points to it.
    pub(crate) argument: usize,
    pub(crate) form: Form,
    /// The place for the rest of a sleep that a signal interrupts, if the caller wants it.
    pub(crate) left: Option<u64>,
}

/// How a call has its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A `timespec` with a length, which the kernel reads only.
    Length,
    /// A `timespec` with an instant of this clock, which the kernel reads only.
    Instant(clockid_t),
    /// A `timespec` with a length, in the place of which the kernel writes what is left.
    LengthAndLeft,
    /// A `timeval`, likewise.
    TimevalAndLeft,
    /// Whole milliseconds in the register. The number of the call that takes a `timespec` instead, and of the register
    /// that is its set of signals.
    Milliseconds(i64, Option<usize>),
}

impl Timed {
    /// The wait that a thread with these registers begins; `None` if its time is on a clock that is not emulated.
    pub(crate) fn of(registers: &user_regs_struct) -> Option<Self> {
        let mut registers = *registers;
        let number = registers.orig_rax as i64;
        let mut value = |number| *argument(&mut registers, number);
        let timed = |call, argument, form| Self {
            call,
            argument,
            form,
            left: None,
        };
        let wanted = |place: u64| (place != 0).then_some(place);
        Some(match number {
            libc::SYS_nanosleep => Self {
                left: wanted(value(1)),
                ..timed(Call::Nanosleep, 0, Form::Length)
            },
            libc::SYS_clock_nanosleep => {
                let clock = value(0) as clockid_t;
                let is_until = value(1) as c_int & libc::TIMER_ABSTIME != 0;
                let is_wall = [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME].contains(&clock);
                match is_until {
                    true => timed(Call::ClockNanosleep, 2, instant(clock)?),
                    false if is_wall => Self {
                        left: wanted(value(3)),
                        ..timed(Call::ClockNanosleep, 2, Form::Length)
                    },
                    false => return None,
                }
            }
            libc::SYS_futex => timed(Call::Futex, 3, futex(value(1) as c_int)?),
            libc::SYS_rt_sigtimedwait => timed(Call::Sigtimedwait, 2, Form::Length),
            libc::SYS_epoll_pwait2 => timed(Call::EpollPwait2, 3, Form::Length),
            libc::SYS_ppoll => timed(Call::Ppoll, 2, Form::LengthAndLeft),
            libc::SYS_pselect6 => timed(Call::Pselect, 4, Form::LengthAndLeft),
            libc::SYS_select => {
                let has_sets = (1..4).any(|set| value(set) != 0);
                let call = if has_sets {
                    Call::Select
                } else {
                    Call::SelectNothing
                };
                timed(call, 4, Form::TimevalAndLeft)
            }
            libc::SYS_poll => {
                let fine = Form::Milliseconds(libc::SYS_ppoll, Some(3));
                timed(Call::Poll, 2, fine)
            }
            libc::SYS_epoll_wait => {
                let fine = Form::Milliseconds(libc::SYS_epoll_pwait2, Some(4));
                timed(Call::EpollWait, 3, fine)
            }
            libc::SYS_epoll_pwait => {
                let fine = Form::Milliseconds(libc::SYS_epoll_pwait2, None);
                timed(Call::EpollPwait, 3, fine)
            }
            _ => return None,
        })
    }
}

/// The form of an instant of a clock, if waits for that are emulated.
fn instant(clock: clockid_t) -> Option<Form> {
    let clocks = [
        libc::CLOCK_MONOTONIC,
        libc::CLOCK_REALTIME,
        libc::CLOCK_BOOTTIME,
    ];
    clocks.contains(&clock).then_some(Form::Instant(clock))
}

/// The form of the time of a futex (futex(2)).
fn futex(operation: c_int) -> Option<Form> {
    let is_real = operation & libc::FUTEX_CLOCK_REALTIME != 0;
    let operation = operation & FUTEX_OPERATION;
    let clock = match is_real || operation == libc::FUTEX_LOCK_PI {
        true => libc::CLOCK_REALTIME,
        false => libc::CLOCK_MONOTONIC,
    };
    match operation {
        libc::FUTEX_WAIT => Some(Form::Length),
        other if FUTEX_WAITS.contains(&other) => instant(clock),
        _ => None,
    }
}

/// Nanoseconds of a pair of seconds and `unit`s; `None` if the kernel refuses them.
pub(crate) fn ns(pair: [i64; 2], unit: u64) -> Option<u64> {
    let seconds = u64::try_from(pair[0]).ok()?;
    let rest = u64::try_from(pair[1]).ok()?.checked_mul(unit)?;
    // A `timeval` may have more than a second of microseconds.
    (rest < SECOND || unit > 1).then_some(())?;
    seconds.checked_mul(SECOND)?.checked_add(rest)
}

/// The pair of so many nanoseconds, rounded up to `unit`s.
pub(crate) fn pair(ns: u64, unit: u64) -> [i64; 2] {
    let ns = ns.next_multiple_of(unit);
    [(ns / SECOND) as i64, (ns % SECOND / unit) as i64]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: i64, arguments: [u64; 6]) -> Option<(Call, usize, Form, Option<u64>)> {
        // SAFETY: all fields are numbers.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        registers.orig_rax = number as u64;
        for (place, value) in arguments.into_iter().enumerate() {
            *argument(&mut registers, place) = value;
        }
        let timed = Timed::of(&registers)?;
        Some((timed.call, timed.argument, timed.form, timed.left))
    }

    #[test]
    fn each_call_has_its_time_somewhere_else() {
        let real = Form::Instant(libc::CLOCK_REALTIME);
        let mono = Form::Instant(libc::CLOCK_MONOTONIC);
        let futex = |operation: c_int| of(libc::SYS_futex, [1, operation as u64, 0, 9, 0, 0]);
        for (operation, form) in [
            (libc::FUTEX_WAIT, Some(Form::Length)),
            (libc::FUTEX_WAIT_BITSET, Some(mono)),
            (
                libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME,
                Some(real),
            ),
            (libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG, Some(real)),
            (libc::FUTEX_LOCK_PI2, Some(mono)),
            (libc::FUTEX_WAKE, None),
        ] {
            let expected = form.map(|form| (Call::Futex, 3, form, None));
            assert_eq!(futex(operation), expected, "{operation}");
        }
        let sleep = |arguments| of(libc::SYS_clock_nanosleep, arguments);
        assert_eq!(
            sleep([1, 0, 9, 7, 0, 0]),
            Some((Call::ClockNanosleep, 2, Form::Length, Some(7)))
        );
        assert_eq!(
            sleep([0, 1, 9, 7, 0, 0]),
            Some((Call::ClockNanosleep, 2, real, None))
        );
        assert_eq!(sleep([2, 0, 9, 0, 0, 0]), None);
        assert_eq!(
            of(libc::SYS_select, [0, 0, 0, 0, 9, 0]),
            Some((Call::SelectNothing, 4, Form::TimevalAndLeft, None))
        );
        assert_eq!(of(libc::SYS_read, [9; 6]), None);
    }

    #[test]
    fn times_are_read_and_written_in_their_units() {
        assert_eq!(ns([1, 5], 1), Some(1_000_000_005));
        assert_eq!(ns([1, 5], 1_000), Some(1_000_005_000));
        assert_eq!(ns([0, 2_000_000], 1_000), Some(2_000_000_000));
        for refused in [[-1, 0], [0, -1], [0, 1_000_000_000], [i64::MAX, 0]] {
            assert_eq!(ns(refused, 1), None, "{refused:?}");
        }
        assert_eq!(pair(1_000_000_005, 1), [1, 5]);
        assert_eq!(pair(1_999_999_001, 1_000), [2, 0]);
    }
}
