//! The system calls that wait, and what their arguments say.

/// A system call that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the calls")]
pub enum Call {
    ClockNanosleep,
    Nanosleep,
    Futex,
    FutexWait,
    FutexWaitv,
    Poll,
    Ppoll,
    Select,
    Pselect6,
    EpollWait,
    EpollPwait,
    EpollPwait2,
    RtSigtimedwait,
    Semtimedop,
    MqTimedreceive,
    MqTimedsend,
    IoGetevents,
    Recvfrom,
    Recvmsg,
    Recvmmsg,
    Sendto,
    Sendmsg,
    Accept,
    Accept4,
    Connect,
    /// The call that a signal interrupted goes on.
    RestartSyscall,
}

/// The timeout of a call, as far as its arguments tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// It waits for an event, for ever.
    Never,
    /// It does not wait.
    Zero,
    /// A length, in nanoseconds.
    Length(u64),
    /// A length behind a pointer.
    Relative,
    /// An instant of this clock behind a pointer.
    Until(Clock),
    /// The file or socket may have one.
    OfFile,
}

/// The clock of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_BOOTTIME`.
    Boottime,
    /// `CLOCK_TAI`.
    Tai,
    /// A clock of CPU time, or one that is not known.
    Other,
}

impl Clock {
    /// The clock with this number (`clock_gettime(2)`).
    fn of(number: u64) -> Self {
        // Numbers of 32 bits; clocks of CPU time are negative.
        match number as i32 {
            0 | 8 => Self::Realtime,
            1 => Self::Monotonic,
            7 | 9 => Self::Boottime,
            11 => Self::Tai,
            _ => Self::Other,
        }
    }
}

/// How the result of a call tells a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimedOut {
    /// By this result.
    Is(i64),
    /// By this result, if a timer of the call expired: other things have it too.
    IfExpired(i64),
}

/// Numbers of errors, which Linux has on all architectures that this is for (errno(3)).
const EINTR: i64 = -4;
const EAGAIN: i64 = -11;
const ETIMEDOUT: i64 = -110;
/// In the kernel only: unless a handler runs, the call goes on by `restart_syscall`, or is called again
/// (`include/linux/errno.h`).
const ERESTART_RESTARTBLOCK: i64 = -516;
const ERESTARTSYS: i64 = -512;
const ERESTARTNOHAND: i64 = -514;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its time was over.
    ByTime,
    /// By what it waited for.
    ByEvent,
    /// By a signal.
    BySignal,
    /// Not yet: a signal interrupted it, and it goes on unless a handler ran.
    Interrupted,
}

impl Call {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 26] = [
        (Self::ClockNanosleep, "clock_nanosleep"),
        (Self::Nanosleep, "nanosleep"),
        (Self::Futex, "futex"),
        (Self::FutexWait, "futex_wait"),
        (Self::FutexWaitv, "futex_waitv"),
        (Self::Poll, "poll"),
        (Self::Ppoll, "ppoll"),
        (Self::Select, "select"),
        (Self::Pselect6, "pselect6"),
        (Self::EpollWait, "epoll_wait"),
        (Self::EpollPwait, "epoll_pwait"),
        (Self::EpollPwait2, "epoll_pwait2"),
        (Self::RtSigtimedwait, "rt_sigtimedwait"),
        (Self::Semtimedop, "semtimedop"),
        (Self::MqTimedreceive, "mq_timedreceive"),
        (Self::MqTimedsend, "mq_timedsend"),
        (Self::IoGetevents, "io_getevents"),
        (Self::Recvfrom, "recvfrom"),
        (Self::Recvmsg, "recvmsg"),
        (Self::Recvmmsg, "recvmmsg"),
        (Self::Sendto, "sendto"),
        (Self::Sendmsg, "sendmsg"),
        (Self::Accept, "accept"),
        (Self::Accept4, "accept4"),
        (Self::Connect, "connect"),
        (Self::RestartSyscall, "restart_syscall"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(call, _)| *call == self)
            .map_or("", |(_, name)| name)
    }

    /// The call with this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, of)| *of == name).map(|(call, _)| *call)
    }

    /// A result that tells this end of a call that had a timeout.
    pub fn result_of(self, ended: Ended) -> i64 {
        match (ended, self.timed_out()) {
            (Ended::ByTime, TimedOut::Is(result) | TimedOut::IfExpired(result)) => result,
            // No timeout has it.
            (Ended::ByEvent, _) => 1,
            (Ended::BySignal, _) => EINTR,
            (Ended::Interrupted, _) => ERESTART_RESTARTBLOCK,
        }
    }

    /// Whether its timeout is a whole number of milliseconds.
    pub const fn takes_milliseconds(self) -> bool {
        matches!(self, Self::Poll | Self::EpollWait | Self::EpollPwait)
    }

    /// Whether it waits for nothing but time.
    pub const fn is_sleep(self) -> bool {
        matches!(self, Self::ClockNanosleep | Self::Nanosleep)
    }

    /// Whether it waits for events of files, with a slack that grows with its length.
    pub const fn is_for_events(self) -> bool {
        matches!(
            self,
            Self::Poll
                | Self::Ppoll
                | Self::Select
                | Self::Pselect6
                | Self::EpollWait
                | Self::EpollPwait
                | Self::EpollPwait2
        )
    }

    /// Whether it is one of those that locks and condition variables are made of.
    pub const fn is_futex(self) -> bool {
        matches!(self, Self::Futex | Self::FutexWait | Self::FutexWaitv)
    }

    /// The timeout that these arguments have; `None` of a call that does not wait with them.
    pub fn timeout(self, args: &[u64; 6]) -> Option<Timeout> {
        let behind = |pointer: u64| match pointer {
            0 => Timeout::Never,
            _ => Timeout::Relative,
        };
        Some(match self {
            Self::ClockNanosleep => match args[1] & 1 {
                0 => Timeout::Relative,
                _ => Timeout::Until(Clock::of(args[0])),
            },
            Self::Nanosleep => Timeout::Relative,
            Self::Futex => return futex(args),
            Self::FutexWait if args[4] == 0 => Timeout::Never,
            Self::FutexWait => Timeout::Until(Clock::of(args[5])),
            Self::FutexWaitv if args[3] == 0 => Timeout::Never,
            Self::FutexWaitv => Timeout::Until(Clock::of(args[4])),
            Self::Poll => milliseconds(args[2]),
            Self::EpollWait | Self::EpollPwait => milliseconds(args[3]),
            Self::EpollPwait2 => behind(args[3]),
            Self::Ppoll | Self::RtSigtimedwait => behind(args[2]),
            Self::Select | Self::Pselect6 | Self::IoGetevents => behind(args[4]),
            Self::Semtimedop => behind(args[3]),
            Self::MqTimedreceive | Self::MqTimedsend => match args[4] {
                0 => Timeout::Never,
                _ => Timeout::Until(Clock::Realtime),
            },
            Self::Recvfrom
            | Self::Recvmsg
            | Self::Recvmmsg
            | Self::Sendto
            | Self::Sendmsg
            | Self::Accept
            | Self::Accept4
            | Self::Connect
            | Self::RestartSyscall => Timeout::OfFile,
        })
    }

    /// How a call with this result ended, of which a timer `expired` or not.
    pub fn ended(self, result: i64, expired: bool) -> Ended {
        match result {
            ERESTART_RESTARTBLOCK | ERESTARTNOHAND..=ERESTARTSYS => return Ended::Interrupted,
            EINTR => return Ended::BySignal,
            _ => {}
        }
        let by_time = match self.timed_out() {
            TimedOut::Is(timed_out) => result == timed_out,
            TimedOut::IfExpired(timed_out) => expired && result == timed_out,
        };
        if by_time {
            Ended::ByTime
        } else {
            Ended::ByEvent
        }
    }

    fn timed_out(self) -> TimedOut {
        match self {
            Self::IoGetevents => TimedOut::Is(0),
            _ if self.is_sleep() || self.is_for_events() => TimedOut::Is(0),
            _ if self.is_futex() => TimedOut::Is(ETIMEDOUT),
            Self::MqTimedreceive | Self::MqTimedsend => TimedOut::Is(ETIMEDOUT),
            Self::RtSigtimedwait | Self::Semtimedop => TimedOut::Is(EAGAIN),
            _ => TimedOut::IfExpired(EAGAIN),
        }
    }
}

/// Of a futex (futex(2)): other operations than waits are `None`.
fn futex(args: &[u64; 6]) -> Option<Timeout> {
    const CLOCK_REALTIME: u64 = 256;
    let clock = match args[1] & CLOCK_REALTIME {
        0 => Clock::Monotonic,
        _ => Clock::Realtime,
    };
    let (wait, wait_bitset, lock_pi, wait_requeue_pi, lock_pi2) = (0, 9, 6, 11, 13);
    let timeout = match args[1] & 127 {
        op if op == wait => Timeout::Relative,
        op if [wait_bitset, wait_requeue_pi, lock_pi2].contains(&op) => Timeout::Until(clock),
        op if op == lock_pi => Timeout::Until(Clock::Realtime),
        _ => return None,
    };
    Some(if args[3] == 0 {
        Timeout::Never
    } else {
        timeout
    })
}

/// Of a signed number of 32 bits.
fn milliseconds(argument: u64) -> Timeout {
    match u64::try_from(argument as i32) {
        Err(_) => Timeout::Never,
        Ok(0) => Timeout::Zero,
        Ok(ms) => Timeout::Length(ms * 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_say_what_a_call_waits_for() {
        let of = |call: Call, args: [u64; 6]| call.timeout(&args);
        let minus_one = u64::from(u32::MAX);
        assert_eq!(
            of(Call::EpollWait, [3, 1, 8, minus_one, 0, 0]),
            Some(Timeout::Never)
        );
        assert_eq!(
            of(Call::EpollWait, [3, 1, 8, 16, 0, 0]),
            Some(Timeout::Length(16_000_000))
        );
        assert_eq!(of(Call::Poll, [1, 1, 0, 0, 0, 0]), Some(Timeout::Zero));
        // FUTEX_WAIT_BITSET_PRIVATE with an instant of either clock, and FUTEX_WAKE.
        let bitset = [1, 128 + 9, 0, 1, 0, 0];
        assert_eq!(
            of(Call::Futex, bitset),
            Some(Timeout::Until(Clock::Monotonic))
        );
        let realtime = [1, 128 + 256 + 9, 0, 1, 0, 0];
        assert_eq!(
            of(Call::Futex, realtime),
            Some(Timeout::Until(Clock::Realtime))
        );
        assert_eq!(of(Call::Futex, [1, 129, 1, 0, 0, 0]), None);
        assert_eq!(
            of(Call::ClockNanosleep, [1, 1, 1, 0, 0, 0]),
            Some(Timeout::Until(Clock::Monotonic))
        );
    }

    #[test]
    fn results_tell_time_from_events_and_signals() {
        assert_eq!(Call::Nanosleep.ended(0, true), Ended::ByTime);
        assert_eq!(Call::Futex.ended(0, true), Ended::ByEvent);
        assert_eq!(Call::Futex.ended(-110, false), Ended::ByTime);
        assert_eq!(Call::EpollWait.ended(2, true), Ended::ByEvent);
        assert_eq!(Call::Recvfrom.ended(-11, false), Ended::ByEvent);
        assert_eq!(Call::Recvfrom.ended(-11, true), Ended::ByTime);
        assert_eq!(Call::Nanosleep.ended(-516, false), Ended::Interrupted);
        assert_eq!(Call::Poll.ended(-4, false), Ended::BySignal);
        assert_eq!(Call::Recvfrom.ended(-512, false), Ended::Interrupted);
    }

    #[test]
    fn each_call_has_a_name_of_its_own() {
        for (call, name) in Call::ALL {
            assert_eq!(call.name(), name);
            assert_eq!(Call::named(name), Some(call));
            for ended in [
                Ended::ByTime,
                Ended::ByEvent,
                Ended::BySignal,
                Ended::Interrupted,
            ] {
                assert_eq!(call.ended(call.result_of(ended), true), ended);
            }
        }
    }
}
