//! The calls of the systems whose C library has `clock_nanosleep`.

mod clock_nanosleep;
mod nanosleep;
mod poll;
mod posix;
mod select;
mod usleep;

use super::condition_variable::ConditionVariable;
use super::sleeper::common::{no_such_call, offer_cpu, refused, thread_sleep};
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
pub(super) struct Calls {
    condition_variable: ConditionVariable,
}

impl Calls {
    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match named(method) {
            known if METHODS.contains(&known) => Ok(known),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match named(method) {
            Method::Nanosleep => nanosleep::block(limit),
            Method::Usleep => usleep::block(limit),
            Method::ClockNanosleep => clock_nanosleep::block(limit),
            Method::ClockNanosleepAbsolute => clock_nanosleep::block_absolute(limit),
            Method::Select => select::block(limit),
            Method::Poll => poll::block(limit),
            Method::ConditionVariable => self.condition_variable.block(limit),
            Method::Yield => offer_cpu(),
            Method::ThreadSleep => thread_sleep(limit),
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
