//! The calls of the systems whose C library has `clock_nanosleep`.

mod posix;

use super::{end_of, no_such_call, offer_cpu, refused};
use crate::Error;
use crate::clock::Host;
use punctual_core::{Limit, Method, Reason};

pub(super) const METHODS: &[Method] = &[
    Method::Nanosleep,
    Method::Usleep,
    Method::ClockNanosleep,
    Method::ClockNanosleepAbsolute,
    Method::Select,
    Method::Poll,
    Method::ConditionVariable,
    Method::ThreadSleep,
    Method::Yield,
];

/// The calls of one waiter.
#[derive(Debug, Default)]
pub(super) struct Calls;

impl Calls {
    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match named(method) {
            known if METHODS.contains(&known) => Ok(known),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match named(method) {
            Method::Nanosleep => posix::nanosleep(limit),
            Method::Usleep => posix::usleep(limit),
            Method::ClockNanosleep => posix::clock_nanosleep(limit),
            Method::ClockNanosleepAbsolute => posix::clock_nanosleep(Limit::Until(end_of(limit))),
            Method::Select => posix::select(limit),
            Method::Poll => posix::poll(limit),
            Method::Yield => offer_cpu(),
            _ => refused(limit),
        }
    }
}

/// The call that both general names stand for.
fn named(method: Method) -> Method {
    match method {
        Method::Sleep | Method::Timer => Method::ClockNanosleep,
        other => other,
    }
}
