//! The calls of Linux and Android. Timer slack applies to the sleeps, the polls
//! and the futexes, not to the timers and the socket (prctl(2), PR_SET_TIMERSLACK).

mod clock_nanosleep;
mod epoll;
mod handle;
mod nanosleep;
mod posix;
mod posix_timer;
mod ppoll;
mod select;
mod socket_timeout;
mod timerfd;
mod usleep;

use super::condition_variable::ConditionVariable;
use super::sleeper::common::{nap, no_such_call, offer_cpu, refused, thread_sleep};
use crate::clock::Host;
use crate::nap::Slack;
use crate::{Error, slack};
use epoll::Epoll;
use handle::Handle;
use posix_timer::PosixTimer;
use punctual_core::{Limit, Method, Reason};
use socket_timeout::SocketTimeout;
use timerfd::Timerfd;

pub(super) const METHODS: &[Method] = &[
    Method::Nanosleep,
    Method::Usleep,
    Method::ClockNanosleep,
    Method::ClockNanosleepAbsolute,
    Method::SlacklessNanosleep,
    Method::Select,
    Method::Poll,
    Method::Epoll,
    Method::ConditionVariable,
    Method::Futex,
    Method::SlacklessFutex,
    Method::Timerfd,
    Method::PosixTimer,
    Method::SocketTimeout,
    Method::ThreadSleep,
    Method::Yield,
];

/// The calls of one waiter, with the handles that some of them need.
#[derive(Debug, Default)]
pub(super) struct Calls {
    epoll: Handle<Epoll>,
    condition_variable: ConditionVariable,
    timerfd: Handle<Timerfd>,
    posix_timer: Handle<PosixTimer>,
    socket_timeout: Handle<SocketTimeout>,
}

impl Calls {
    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        let method = named(method);
        match method {
            Method::Epoll => self.epoll.prepare()?,
            Method::Timerfd => self.timerfd.prepare()?,
            Method::PosixTimer => self.posix_timer.prepare()?,
            Method::SocketTimeout => self.socket_timeout.prepare()?,
            _ if METHODS.contains(&method) => {}
            _ => return Err(no_such_call(method)),
        }
        Ok(method)
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match named(method) {
            Method::Nanosleep => nanosleep::block(limit),
            Method::Usleep => usleep::block(limit),
            Method::ClockNanosleep => clock_nanosleep::block(limit),
            Method::ClockNanosleepAbsolute => clock_nanosleep::block_absolute(limit),
            Method::SlacklessNanosleep => slack::without(|| clock_nanosleep::block(limit)),
            Method::Select => select::block(limit),
            Method::Poll => ppoll::block(limit),
            Method::Epoll => self.epoll.block(limit),
            Method::ConditionVariable => self.condition_variable.block(limit),
            Method::Futex => nap(limit, Slack::Leave),
            Method::SlacklessFutex => nap(limit, Slack::PerNap),
            Method::Timerfd => self.timerfd.block(limit),
            Method::PosixTimer => self.posix_timer.block(limit),
            Method::SocketTimeout => self.socket_timeout.block(limit),
            Method::Yield => offer_cpu(),
            Method::ThreadSleep => thread_sleep(limit),
            _ => refused(limit),
        }
    }
}

/// The calls that the two general names stand for.
fn named(method: Method) -> Method {
    match method {
        Method::Sleep => Method::ClockNanosleep,
        Method::Timer => Method::SlacklessFutex,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sleeper;
    use super::METHODS;
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
        let uninterrupted = [
            Method::ConditionVariable,
            Method::ThreadSleep,
            Method::Yield,
        ];
        for method in METHODS.iter().filter(|m| !uninterrupted.contains(m)) {
            let method = *method;
            let length = || Limit::For(HOUR);
            let instant = || Limit::Until(clock::now() + HOUR);
            for limit in [length as fn() -> _, instant] {
                let reason = reason_when_signalled(method, limit);
                assert_eq!(reason, Reason::Interrupted, "{method}");
            }
        }
    }

    /// What is left of one wait, such as an expiration that nobody read, must
    /// not end the next.
    #[test]
    fn every_wait_lasts() {
        let mut sleeper = Sleeper::new();
        let length = Nanos::from_us(200);
        for method in METHODS.iter().filter(|m| **m != Method::Yield) {
            for _ in 0..5 {
                let start = clock::now();
                let reason = sleeper.block(*method, Limit::For(length), None);
                assert_eq!(reason, Reason::Timer, "{method}");
                assert!(clock::now().since(start) >= length, "{method}");
            }
        }
    }

    #[test]
    fn the_general_names() {
        let mut sleeper = Sleeper::new();
        assert_eq!(
            sleeper.prepare(Method::Sleep).unwrap(),
            Method::ClockNanosleep
        );
        assert_eq!(
            sleeper.prepare(Method::Timer).unwrap(),
            Method::SlacklessFutex
        );
    }
}
