//! `timer_settime`, with a signal to the thread that waits for it.

use super::handle::Call;
use super::posix::timespec_of;
use crate::clock::Host;
use crate::wait::sleeper::common::refused;
use libc::{CLOCK_MONOTONIC, SIG_BLOCK, SIGEV_THREAD_ID, TIMER_ABSTIME, itimerspec, sigset_t};
use punctual_core::{Limit, Reason};
use std::io;
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::thread::{self, ThreadId};

/// A POSIX timer of a thread. Timer slack does not apply to it.
///
/// Its signal is the last of the real-time ones. It stays blocked in the
/// thread: unblocked it would end the process if it ever came too late.
#[derive(Debug)]
pub(super) struct PosixTimer {
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
            // Somebody else sent that signal.
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
        // SAFETY: nobody else has this timer, and it is not used again.
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
