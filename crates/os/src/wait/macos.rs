//! The calls of macOS.

mod handle;
mod kevent;
mod mach_wait_until;
mod nanosleep;
mod poll;
mod posix;
mod select;
mod usleep;

use super::condition_variable::ConditionVariable;
use super::sleeper::common::{no_such_call, offer_cpu, refused, thread_sleep};
use crate::Error;
use crate::clock::Host;
use handle::Handle;
use kevent::Kevent;
use punctual_core::{Limit, Method, Reason};

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
    condition_variable: ConditionVariable,
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
            Method::Nanosleep => nanosleep::block(limit),
            Method::Usleep => usleep::block(limit),
            Method::Select => select::block(limit),
            Method::Poll => poll::block(limit),
            Method::ConditionVariable => self.condition_variable.block(limit),
            Method::MachWaitUntil => mach_wait_until::block(limit),
            Method::Kevent => self.kevent.block(limit),
            Method::Yield => offer_cpu(),
            Method::ThreadSleep => thread_sleep(limit),
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
