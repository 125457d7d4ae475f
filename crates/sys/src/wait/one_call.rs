//! A system with one blocking call of its own, which needs no handle.

use super::platform::{CALL, call};
use super::sleeper::common::{no_such_call, thread_sleep};
use crate::Error;
use crate::clock::Host;
use punctual_core::{Limit, Method, Reason};

pub(super) const METHODS: &[Method] = match CALL {
    Method::ThreadSleep => &[CALL],
    _ => &[CALL, Method::ThreadSleep],
};

/// The calls of one waiter.
#[derive(Debug)]
pub(super) struct Calls;

impl Calls {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep | Method::Timer => Ok(CALL),
            known if METHODS.contains(&known) => Ok(known),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::Sleep | Method::Timer => call(limit),
            own if own == CALL => call(limit),
            _ => thread_sleep(limit),
        }
    }
}
