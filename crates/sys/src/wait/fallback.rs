//! `std::thread::sleep` alone.

use super::sleeper::common::{no_such_call, thread_sleep};
use crate::Error;
use crate::clock::Host;
use punctual_core::{Limit, Method, Reason};

pub(super) const METHODS: &[Method] = &[Method::ThreadSleep];

/// The calls of one waiter; none needs a handle.
#[derive(Debug)]
pub(super) struct Calls;

impl Calls {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep | Method::Timer | Method::ThreadSleep => Ok(Method::ThreadSleep),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, _method: Method, limit: Limit<Host>) -> Reason {
        thread_sleep(limit)
    }
}
