//! The calls of macOS.

mod handle;
mod posix;

use super::{no_such_call, offer_cpu, refused};
use crate::Error;
use crate::clock::{self, Host};
use handle::{Call, Handle};
use libc::{EV_ADD, EV_DELETE, EV_ERROR, EV_ONESHOT, EVFILT_TIMER, NOTE_NSECONDS, kevent64_s};
use mach2::kern_return::{KERN_ABORTED, KERN_SUCCESS};
use punctual_core::{Limit, Method, Reason};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::{io, ptr};

pub(super) const METHODS: &[Method] = &[
    Method::Nanosleep,
    Method::Usleep,
    Method::Select,
    Method::Poll,
    Method::ConditionVariable,
    Method::MachWaitUntil,
    Method::Kevent,
    Method::ThreadSleep,
    Method::Yield,
];

/// The calls of one waiter, with the handle that one of them needs.
#[derive(Debug, Default)]
pub(super) struct Calls {
    kevent: Handle<Kevent>,
}

impl Calls {
    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        let method = named(method);
        match method {
            Method::Kevent => self.kevent.prepare()?,
            _ if METHODS.contains(&method) => {}
            _ => return Err(no_such_call(method)),
        }
        Ok(method)
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match named(method) {
            Method::Nanosleep => posix::nanosleep(limit),
            Method::Usleep => posix::usleep(limit),
            Method::Select => posix::select(limit),
            Method::Poll => posix::poll(limit),
            Method::MachWaitUntil => mach_wait_until(limit),
            Method::Kevent => self.kevent.block(limit),
            Method::Yield => offer_cpu(),
            _ => refused(limit),
        }
    }
}

/// The call that both general names stand for.
fn named(method: Method) -> Method {
    match method {
        Method::Sleep | Method::Timer => Method::MachWaitUntil,
        other => other,
    }
}

/// `mach_wait_until`, which every other sleep of the system ends in
/// (Apple TN2169). It takes an instant of `mach_absolute_time`.
fn mach_wait_until(limit: Limit<Host>) -> Reason {
    let deadline = match limit {
        Limit::For(length) => {
            clock::counter_now().saturating_add(clock::counter_at(length.as_ns()))
        }
        Limit::Until(instant) => clock::counter_at(instant.as_ns()),
    };
    // SAFETY: takes a number, has no preconditions.
    match unsafe { mach2::mach_time::mach_wait_until(deadline) } {
        KERN_SUCCESS => Reason::Timer,
        KERN_ABORTED => Reason::Interrupted,
        _ => refused(limit),
    }
}

/// `kevent64` with a timer that goes off once: a kernel queue, for one timer at a time.
#[derive(Debug)]
struct Kevent(OwnedFd);

impl Call for Kevent {
    const MAKING: &'static str = "making a kernel queue";

    fn make() -> io::Result<Self> {
        // SAFETY: no pointers; the answer is checked.
        let fd = unsafe { libc::kqueue() };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was made just now and has no other owner.
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
        // SAFETY: the descriptor is open as long as `self` lives, there is one change, and there
        // is room for the stated number of events. The null pointer means no timeout.
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
