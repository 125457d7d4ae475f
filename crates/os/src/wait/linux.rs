//! The calls of Linux and Android. Timer slack applies to the sleeps, the polls
//! and the futexes, not to the timers and the socket (prctl(2), PR_SET_TIMERSLACK).

mod handle;
mod interval;
mod posix;

use super::{end_of, nap, no_such_call, offer_cpu, refused};
use crate::clock::{self, Host};
use crate::nap::Slack;
use crate::{Error, slack};
use handle::{Call, Handle};
use interval::IntervalTimer;
use libc::{
    CLOCK_MONOTONIC, EPOLL_CLOEXEC, SIG_BLOCK, SIGEV_THREAD_ID, TFD_CLOEXEC, TFD_TIMER_ABSTIME,
    TIMER_ABSTIME, epoll_event, itimerspec, sigset_t,
};
use posix::{after_error, clock_nanosleep, timespec_of, whole_ms, whole_us};
use punctual_core::{Limit, Method, Reason};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::thread::{self, ThreadId};
use std::time::Duration;
use std::{io, ptr};

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
    Method::IntervalTimer,
    Method::SocketTimeout,
    Method::ThreadSleep,
    Method::Yield,
];

/// The calls of one waiter, with the handles that some of them need.
#[derive(Debug, Default)]
pub(super) struct Calls {
    epoll: Handle<Epoll>,
    timerfd: Handle<Timerfd>,
    posix_timer: Handle<PosixTimer>,
    interval_timer: Handle<IntervalTimer>,
    socket_timeout: Handle<SocketTimeout>,
}

impl Calls {
    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        let method = named(method);
        match method {
            Method::Epoll => self.epoll.prepare()?,
            Method::Timerfd => self.timerfd.prepare()?,
            Method::PosixTimer => self.posix_timer.prepare()?,
            Method::IntervalTimer => self.interval_timer.prepare()?,
            Method::SocketTimeout => self.socket_timeout.prepare()?,
            _ if METHODS.contains(&method) => {}
            _ => return Err(no_such_call(method)),
        }
        Ok(method)
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match named(method) {
            Method::Nanosleep => posix::nanosleep(limit),
            Method::Usleep => posix::usleep(limit),
            Method::ClockNanosleep => clock_nanosleep(limit),
            Method::ClockNanosleepAbsolute => clock_nanosleep(Limit::Until(end_of(limit))),
            Method::SlacklessNanosleep => slack::without(|| clock_nanosleep(limit)),
            Method::Select => posix::select(limit),
            Method::Poll => ppoll(limit),
            Method::Epoll => self.epoll.block(limit),
            Method::Futex => nap(limit, Slack::Leave),
            Method::SlacklessFutex => nap(limit, Slack::PerNap),
            Method::Timerfd => self.timerfd.block(limit),
            Method::PosixTimer => self.posix_timer.block(limit),
            Method::IntervalTimer => self.interval_timer.block(limit),
            Method::SocketTimeout => self.socket_timeout.block(limit),
            Method::Yield => offer_cpu(),
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

/// `ppoll` on nothing: `poll` with a timeout in nanoseconds.
fn ppoll(limit: Limit<Host>) -> Reason {
    let timeout = timespec_of(limit.length(clock::now()).as_ns());
    // SAFETY: there are no descriptors and no signal mask, which zero and the
    // null pointers say, and `timeout` is a valid timespec.
    match unsafe { libc::ppoll(ptr::null_mut(), 0, &timeout, ptr::null()) } {
        0 => Reason::Timer,
        _ => after_error(limit),
    }
}

/// `epoll_wait` on nothing, in whole milliseconds.
#[derive(Debug)]
struct Epoll(OwnedFd);

impl Call for Epoll {
    const MAKING: &'static str = "making an epoll instance";

    fn make() -> io::Result<Self> {
        // SAFETY: no pointers; the answer is checked.
        let fd = unsafe { libc::epoll_create1(EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        let timeout = whole_ms(limit.length(clock::now()));
        let mut event = epoll_event { events: 0, u64: 0 };
        // SAFETY: the descriptor is open as long as `self` lives, and there is
        // room for one event, as stated.
        match unsafe { libc::epoll_wait(self.0.as_raw_fd(), &mut event, 1, timeout) } {
            0 => Reason::Timer,
            _ => after_error(limit),
        }
    }
}

/// `timerfd_settime` and `read`. Timer slack does not apply to it (man page PR_SET_TIMERSLACK
/// lists the calls it applies to).
#[derive(Debug)]
struct Timerfd(OwnedFd);

impl Call for Timerfd {
    const MAKING: &'static str = "making a timerfd";

    fn make() -> io::Result<Self> {
        // SAFETY: no pointers; the answer is checked.
        let fd = unsafe { libc::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and has no other owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        match self.arm(limit).and_then(|()| self.read()) {
            Ok(()) => Reason::Timer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Reason::Interrupted,
            Err(_) => refused(limit),
        }
    }
}

impl Timerfd {
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
        let answer =
            unsafe { libc::timerfd_settime(self.0.as_raw_fd(), flags, &request, ptr::null_mut()) };
        match answer {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
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

/// `timer_settime`, with a signal to the thread that waits for it. Timer slack does not apply to it.
///
/// Its signal is the last of the real-time ones. It stays blocked in the
/// thread: unblocked it would end the process if it ever came too late.
#[derive(Debug)]
struct PosixTimer {
    id: TimerId,
    /// Whom its signal goes to, and where it is blocked.
    of: ThreadId,
}

/// Deletes the timer in the end.
#[derive(Debug)]
struct TimerId(libc::timer_t);

// SAFETY: it is a number that names a timer of the process, whatever its type
// in C, and every thread may use it.
unsafe impl Send for TimerId {}

impl Call for PosixTimer {
    const MAKING: &'static str = "making a POSIX timer";

    fn make() -> io::Result<Self> {
        // SAFETY: the set is valid, and the old mask is not wanted.
        let error = unsafe { libc::pthread_sigmask(SIG_BLOCK, &signals(), ptr::null_mut()) };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: all its parts are numbers or pointers, for which zero is valid.
        let mut notice: libc::sigevent = unsafe { mem::zeroed() };
        notice.sigev_notify = SIGEV_THREAD_ID;
        notice.sigev_signo = signal();
        // SAFETY: takes nothing and always succeeds.
        notice.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut id = MaybeUninit::uninit();
        // SAFETY: `notice` is valid, and `id` is written to if the call succeeds.
        let answer = unsafe { libc::timer_create(CLOCK_MONOTONIC, &mut notice, id.as_mut_ptr()) };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            // SAFETY: the call has succeeded.
            id: TimerId(unsafe { id.assume_init() }),
            of: thread::current().id(),
        })
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        match self.move_here().and_then(|()| self.wait(limit)) {
            Ok(()) => Reason::Timer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Reason::Interrupted,
            Err(_) => refused(limit),
        }
    }
}

impl PosixTimer {
    /// The signal goes to one thread only, so another one needs another timer.
    fn move_here(&mut self) -> io::Result<()> {
        if self.of != thread::current().id() {
            *self = Self::make()?;
        }
        Ok(())
    }

    fn wait(&self, limit: Limit<Host>) -> io::Result<()> {
        let (flags, ns) = match limit {
            Limit::For(length) => (0, length.as_ns()),
            Limit::Until(instant) => (TIMER_ABSTIME, instant.as_ns()),
        };
        // Zero would disarm the timer, and the signal would never come.
        self.set(flags, ns.max(1))?;
        let taken = take(None);
        if !matches!(taken, Ok(libc::SI_TIMER)) {
            // The timer may go off even now. Its signal would end the next wait.
            self.set(0, 0)?;
            while take(Some(timespec_of(0))).is_ok() {}
        }
        match taken? {
            libc::SI_TIMER => Ok(()),
            // The signal came from elsewhere.
            _ => Err(io::ErrorKind::Interrupted.into()),
        }
    }

    fn set(&self, flags: libc::c_int, ns: u64) -> io::Result<()> {
        let request = itimerspec {
            it_interval: timespec_of(0),
            it_value: timespec_of(ns),
        };
        // SAFETY: the timer is there as long as `self`, `request` is valid, and
        // the null pointer says that the old setting is not wanted.
        match unsafe { libc::timer_settime(self.id.0, flags, &request, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for TimerId {
    fn drop(&mut self) {
        // SAFETY: this timer has no other owner, and it is not used again.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Waits for the signal, at most for `timeout`, and says who sent it: a code
/// such as `SI_TIMER`.
fn take(timeout: Option<libc::timespec>) -> io::Result<libc::c_int> {
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
    // SAFETY: the set is valid, `timeout` is valid or null, which means without
    // end, and `info` is written to if the call succeeds.
    if unsafe { libc::sigtimedwait(&signals(), info.as_mut_ptr(), timeout) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has succeeded.
    Ok(unsafe { info.assume_init() }.si_code)
}

fn signal() -> libc::c_int {
    libc::SIGRTMAX()
}

/// That signal alone.
fn signals() -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call makes the set valid, and the signal is one.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal());
        set.assume_init()
    }
}

/// A receive with `SO_RCVTIMEO`, from a socket without a sender. A pair: a message would go from
/// the second to the first. Local ones, which need no network and count their timeouts like those
/// of the network.
#[derive(Debug)]
struct SocketTimeout {
    receiver: UnixDatagram,
    /// Sends nothing, but keeps the pair connected.
    _sender: UnixDatagram,
}

impl Call for SocketTimeout {
    const MAKING: &'static str = "making a pair of sockets";

    fn make() -> io::Result<Self> {
        let (receiver, sender) = UnixDatagram::pair()?;
        Ok(Self {
            receiver,
            _sender: sender,
        })
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        // Zero would be no timeout at all.
        let us = whole_us(limit.length(clock::now())).max(1);
        let timeout = Some(Duration::from_micros(us));
        let received = self
            .receiver
            .set_read_timeout(timeout)
            .and_then(|()| self.receiver.recv(&mut [0]));
        match received.map_err(|error| error.kind()) {
            Err(io::ErrorKind::WouldBlock) => Reason::Timer,
            Err(io::ErrorKind::Interrupted) => Reason::Interrupted,
            _ => refused(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sleeper, in_turn};
    use super::METHODS;
    use crate::{clock, slack};
    use punctual_core::{Driver, Limit, Method, Nanos, Reason};
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
        let _turn = in_turn();
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

    /// Remains of one wait, such as an expiration that was not read, must not end the next.
    #[test]
    fn every_wait_lasts() {
        let _turn = in_turn();
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
