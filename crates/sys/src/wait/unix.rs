//! `clock_nanosleep` alone.

use super::clock_nanosleep;
use super::sleeper::common::{no_such_call, thread_sleep};
use crate::Error;
use crate::clock::Host;
use punctual_core::{Limit, Method, Reason};

pub(super) const METHODS: &[Method] = &[Method::ClockNanosleep, Method::ThreadSleep];

/// The calls of one waiter; none needs a handle.
#[derive(Debug)]
pub(super) struct Calls;

impl Calls {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep | Method::Timer | Method::ClockNanosleep => Ok(Method::ClockNanosleep),
            Method::ThreadSleep => Ok(Method::ThreadSleep),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::Sleep | Method::Timer | Method::ClockNanosleep => clock_nanosleep::block(limit),
            _ => thread_sleep(limit),
        }
    }
}
