//! `clock_nanosleep`, with the thread's timer slack or without, and timerfd.

use super::clock_nanosleep::{self, timespec_of};
use super::sleeper::common::{no_such_call, thread_sleep};
use crate::clock::Host;
use crate::{Error, slack};
use libc::{CLOCK_MONOTONIC, TFD_CLOEXEC, TFD_TIMER_ABSTIME, itimerspec};
use punctual_core::{Limit, Method, Reason};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub(super) const METHODS: &[Method] = &[
    Method::ClockNanosleep,
    Method::SlacklessNanosleep,
    Method::Timerfd,
    Method::ThreadSleep,
];

/// The calls of one waiter, and the handle that one of them needs.
#[derive(Debug)]
pub(super) struct Calls {
    timer: Option<Timer>,
}

impl Calls {
    pub(super) fn new() -> Self {
        Self { timer: None }
    }

    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep | Method::ClockNanosleep => Ok(Method::ClockNanosleep),
            Method::Timer | Method::Timerfd => {
                self.timer()
                    .map_err(|cause| Error::io("making a timerfd", &cause))?;
                Ok(Method::Timerfd)
            }
            Method::SlacklessNanosleep | Method::ThreadSleep => Ok(method),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::Sleep | Method::ClockNanosleep => clock_nanosleep::block(limit),
            Method::SlacklessNanosleep => slack::without(|| clock_nanosleep::block(limit)),
            Method::Timer | Method::Timerfd => match self.timer() {
                Ok(timer) => timer.block(limit),
                Err(_) => thread_sleep(limit),
            },
            _ => thread_sleep(limit),
        }
    }

    fn timer(&mut self) -> io::Result<&Timer> {
        match self.timer {
            Some(ref timer) => Ok(timer),
            None => Ok(self.timer.insert(Timer::new()?)),
        }
    }
}

/// A timerfd. Timer slack does not apply to it (man page PR_SET_TIMERSLACK
/// lists the calls it applies to).
#[derive(Debug)]
struct Timer(OwnedFd);

impl Timer {
    fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the answer is checked.
        let fd = unsafe { libc::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn block(&self, limit: Limit<Host>) -> Reason {
        match self.arm(limit).and_then(|()| self.read()) {
            Ok(()) => Reason::Timer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Reason::Interrupted,
            Err(_) => thread_sleep(limit),
        }
    }

    /// Sets the one expiration. Arming also forgets an expiration that was not
    /// read, as after a wait that a signal ended.
    fn arm(&self, limit: Limit<Host>) -> io::Result<()> {
        let (flags, ns) = match limit {
            Limit::For(length) => (0, length.as_ns()),
            Limit::Until(instant) => (TFD_TIMER_ABSTIME, instant.as_ns()),
        };
        let request = itimerspec {
            it_interval: timespec_of(0),
            // Zero would disarm the timer, and the read would never end.
            it_value: timespec_of(ns.max(1)),
        };
        // SAFETY: the descriptor is open as long as `self` lives, `request` is
        // valid, and the null pointer says that the old setting is not wanted.
        let answer = unsafe {
            libc::timerfd_settime(self.0.as_raw_fd(), flags, &request, std::ptr::null_mut())
        };
        if answer == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Blocks until the expiration, and takes it: an expiration left in the
    /// descriptor would end the next wait at once (gamescope#1905).
    fn read(&self) -> io::Result<()> {
        let mut expirations = [0_u8; size_of::<u64>()];
        // SAFETY: the buffer is as long as stated, and the descriptor is open.
        let read = unsafe {
            libc::read(
                self.0.as_raw_fd(),
                expirations.as_mut_ptr().cast(),
                expirations.len(),
            )
        };
        if read < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sleeper;
    use crate::{clock, slack};
    use punctual_core::{Carrier, Limit, Method, Nanos, Reason};
    use std::os::unix::thread::JoinHandleExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Once};
    use std::{ptr, thread};

    extern "C" fn ignore(_signal: libc::c_int) {}

    /// Installs a handler that does nothing, without SA_RESTART: only a handled
    /// signal interrupts a system call.
    fn handle_signal() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: an all-zero sigaction is valid; the handler touches
            // nothing, so it is safe at any point of any thread.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = ignore as *const () as libc::sighandler_t;
                libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut());
            }
        });
    }

    /// Blocks a thread for an hour, and sends it signals until it comes back.
    fn reason_when_signalled(method: Method, limit: fn() -> Limit<clock::Host>) -> Reason {
        handle_signal();
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&flag);
        let blocked = thread::spawn(move || {
            let before = slack::current();
            let reason = Sleeper::new().block(method, limit(), None);
            assert_eq!(slack::current(), before, "{method}");
            theirs.store(true, Ordering::Release);
            reason
        });
        while !flag.load(Ordering::Acquire) {
            // SAFETY: the thread is not joined yet, so its id is still its own.
            unsafe { libc::pthread_kill(blocked.as_pthread_t(), libc::SIGUSR1) };
            thread::yield_now();
        }
        blocked.join().unwrap()
    }

    #[test]
    fn a_signal_interrupts_every_call() {
        const HOUR: Nanos = Nanos::from_secs(3_600);
        for method in [
            Method::ClockNanosleep,
            Method::SlacklessNanosleep,
            Method::Timerfd,
        ] {
            let length = || Limit::For(HOUR);
            let instant = || Limit::Until(clock::now() + HOUR);
            assert_eq!(reason_when_signalled(method, length), Reason::Interrupted);
            assert_eq!(reason_when_signalled(method, instant), Reason::Interrupted);
        }
    }

    /// An expiration that nobody read must not end the next wait.
    #[test]
    fn every_timerfd_wait_lasts() {
        let mut sleeper = Sleeper::new();
        for _ in 0..5 {
            let start = clock::now();
            sleeper.block(Method::Timerfd, Limit::For(Nanos::from_us(200)), None);
            assert!(clock::now().since(start) >= Nanos::from_us(200));
        }
    }

    #[test]
    fn the_general_names() {
        let mut sleeper = Sleeper::new();
        assert_eq!(
            sleeper.prepare(Method::Sleep).unwrap(),
            Method::ClockNanosleep
        );
        assert_eq!(sleeper.prepare(Method::Timer).unwrap(), Method::Timerfd);
    }
}
