//! `timerfd_settime` and `read`.

use super::handle::Call;
use super::posix::timespec_of;
use crate::clock::Host;
use crate::wait::sleeper::common::refused;
use libc::{CLOCK_MONOTONIC, TFD_CLOEXEC, TFD_TIMER_ABSTIME, itimerspec};
use punctual_core::{Limit, Reason};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A timerfd. Timer slack does not apply to it (man page PR_SET_TIMERSLACK
/// lists the calls it applies to).
#[derive(Debug)]
pub(super) struct Timerfd(OwnedFd);

impl Call for Timerfd {
    const MAKING: &'static str = "making a timerfd";

    fn make() -> io::Result<Self> {
        // SAFETY: no pointers; the answer is checked.
        let fd = unsafe { libc::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and nobody else owns it.
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
