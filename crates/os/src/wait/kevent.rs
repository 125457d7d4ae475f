//! `kevent64` with a timer that goes off once.

use super::handle::Call;
use crate::clock::{self, Host};
use crate::wait::sleeper::common::refused;
use libc::{EV_ADD, EV_DELETE, EV_ERROR, EV_ONESHOT, EVFILT_TIMER, NOTE_NSECONDS, kevent64_s};
use punctual_core::{Limit, Reason};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// A kernel queue, for one timer at a time.
#[derive(Debug)]
pub(super) struct Kevent(OwnedFd);

impl Call for Kevent {
    const MAKING: &'static str = "making a kernel queue";

    fn make() -> io::Result<Self> {
        // SAFETY: no pointers; the answer is checked.
        let fd = unsafe { libc::kqueue() };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        let ns = limit.length(clock::now()).as_ns();
        match self.call(&timer(EV_ADD | EV_ONESHOT, ns), &mut [timer(0, 0)]) {
            Ok(()) => Reason::Timer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                // The timer goes on, and would end the next wait. If it has
                // gone off meanwhile, there is nothing to delete.
                let _ = self.call(&timer(EV_DELETE, 0), &mut []);
                Reason::Interrupted
            }
            Err(_) => refused(limit),
        }
    }
}

impl Kevent {
    /// Makes a change, and blocks until there is an event if there is room for
    /// one.
    fn call(&self, change: &kevent64_s, events: &mut [kevent64_s]) -> io::Result<()> {
        let room = libc::c_int::from(!events.is_empty());
        // SAFETY: the descriptor is open as long as `self` lives, there is one
        // change, there is room for as many events as stated, and the null
        // pointer says that there is no timeout.
        let count = unsafe {
            libc::kevent64(
                self.0.as_raw_fd(),
                change,
                1,
                events.as_mut_ptr(),
                room,
                0,
                ptr::null(),
            )
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        match events.first() {
            Some(event) if event.flags & EV_ERROR != 0 => {
                Err(io::Error::from_raw_os_error(event.data as i32))
            }
            _ => Ok(()),
        }
    }
}

/// A change of the one timer.
fn timer(flags: u16, ns: u64) -> kevent64_s {
    kevent64_s {
        ident: 1,
        filter: EVFILT_TIMER,
        flags,
        fflags: NOTE_NSECONDS,
        // The sleeper has cut the length to a day, which fits.
        data: i64::try_from(ns).unwrap_or(i64::MAX),
        udata: 0,
        ext: [0; 2],
    }
}
