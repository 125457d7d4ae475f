//! `setitimer(ITIMER_REAL)`: the one timer of a process, whose signal any of its threads may get.

use super::super::{end_of, refused};
use super::handle::Call;
use super::posix::{after_error, whole_us};
use crate::clock::{self, Host};
use libc::{EFD_CLOEXEC, EFD_NONBLOCK, SA_RESTART, SIG_UNBLOCK, SIGALRM, c_int, c_void};
use punctual_core::{Limit, Reason};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::{io, ptr};

/// `linux/time.h`; libc does not name it for every Linux.
const ITIMER_REAL: c_int = 0;

/// Whether a waiter has the timer.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The descriptor that the handler writes to; -1 while no waiter has the timer.
static NOTICE: AtomicI32 = AtomicI32::new(-1);

/// The timer, and the descriptor by which its signal reaches the thread that waits, whichever thread gets it. The
/// signal has its old action again when this is dropped.
#[derive(Debug)]
pub(super) struct IntervalTimer {
    notice: OwnedFd,
    before: Action,
}

struct Action(libc::sigaction);

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Action")
    }
}

extern "C" fn notice(_signal: c_int) {
    let one = 1_u64;
    let descriptor = NOTICE.load(Ordering::Relaxed);
    if descriptor >= 0 {
        // SAFETY: the buffer is as long as stated; `write` may be called in a handler. It cannot fail, and so leaves
        // `errno` alone: the count is far from its end, as each wait takes it.
        unsafe { libc::write(descriptor, ptr::from_ref(&one).cast::<c_void>(), 8) };
    }
}

impl Call for IntervalTimer {
    const MAKING: &'static str = "taking the interval timer of this process";

    fn make() -> io::Result<Self> {
        if IS_TAKEN.swap(true, Ordering::AcqRel) {
            let why = "another thread waits by it, and a process has one only";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Self::taken().inspect_err(|_| IS_TAKEN.store(false, Ordering::Release))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        // Zero would disarm the timer.
        let us = whole_us(end_of(limit).since(clock::now())).max(1);
        // One that came after an interrupted wait.
        self.take();
        if !set(us) {
            return refused(limit);
        }
        let mut fds = libc::pollfd {
            fd: self.notice.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: there is one entry, as stated, and its descriptor is open as long as `self` lives.
        let polled = unsafe { libc::poll(&mut fds, 1, -1) };
        let why = if polled == 1 {
            Reason::Timer
        } else {
            after_error(limit)
        };
        // Its own signal may have ended the poll.
        if self.take() {
            return Reason::Timer;
        }
        set(0);
        why
    }
}

impl IntervalTimer {
    fn taken() -> io::Result<Self> {
        // SAFETY: takes numbers; the answer is checked.
        let descriptor = unsafe { libc::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and has no other owner.
        let notice_fd = unsafe { OwnedFd::from_raw_fd(descriptor) };
        // SAFETY: an all-zero sigaction is valid, and the handler calls only what a handler may call.
        let before = unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = notice as *const () as libc::sighandler_t;
            action.sa_flags = SA_RESTART;
            swap_action(&action)?
        };
        NOTICE.store(descriptor, Ordering::Relaxed);
        let timer = Self {
            notice: notice_fd,
            before: Action(before),
        };
        unblock()?;
        Ok(timer)
    }

    /// Whether the signal came.
    fn take(&self) -> bool {
        let mut count = 0_u64;
        // SAFETY: the buffer is as long as stated, and the descriptor is open as long as `self` lives.
        let read = unsafe {
            libc::read(
                self.notice.as_raw_fd(),
                ptr::from_mut(&mut count).cast::<c_void>(),
                8,
            )
        };
        read == 8
    }
}

impl Drop for IntervalTimer {
    fn drop(&mut self) {
        set(0);
        // A signal that is still to come finds the handler, which then writes nothing.
        NOTICE.store(-1, Ordering::Relaxed);
        // SAFETY: it was the action before.
        let _ = unsafe { swap_action(&self.before.0) };
        IS_TAKEN.store(false, Ordering::Release);
    }
}

/// Arms the timer, or disarms it with 0.
fn set(us: u64) -> bool {
    let none = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let request = libc::itimerval {
        it_interval: none,
        it_value: libc::timeval {
            tv_sec: (us / 1_000_000) as _,
            tv_usec: (us % 1_000_000) as _,
        },
    };
    // SAFETY: `request` is valid, and the null pointer says that the old setting is not wanted.
    unsafe { libc::setitimer(ITIMER_REAL, &request, ptr::null_mut()) == 0 }
}

/// Puts an action in the place of another, which it returns.
///
/// # Safety
/// Its handler does only what a handler may do.
unsafe fn swap_action(action: &libc::sigaction) -> io::Result<libc::sigaction> {
    let mut before = MaybeUninit::uninit();
    // SAFETY: both are valid places for one action, and the caller says so of the handler.
    match unsafe { libc::sigaction(SIGALRM, action, before.as_mut_ptr()) } {
        // SAFETY: the call has succeeded.
        0 => Ok(unsafe { before.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the signal come to this thread.
fn unblock() -> io::Result<()> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call makes the set valid, the signal is one, and the old mask is not wanted.
    let error = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), SIGALRM);
        libc::pthread_sigmask(SIG_UNBLOCK, set.as_ptr(), ptr::null_mut())
    };
    match error {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(error)),
    }
}
