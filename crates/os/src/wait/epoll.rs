//! `epoll_wait` on nothing, in whole milliseconds.

use super::handle::Call;
use super::posix::{after_error, whole_ms};
use crate::clock::{self, Host};
use libc::{EPOLL_CLOEXEC, epoll_event};
use punctual_core::{Limit, Reason};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An epoll instance that watches nothing.
#[derive(Debug)]
pub(super) struct Epoll(OwnedFd);

impl Call for Epoll {
    const MAKING: &'static str = "making an epoll instance";

    fn make() -> io::Result<Self> {
        // SAFETY: no pointers; the answer is checked.
        let fd = unsafe { libc::epoll_create1(EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and nobody else owns it.
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
