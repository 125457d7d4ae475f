//! What the standard library has.

use super::condition_variable::ConditionVariable;
use super::sleeper::common::{no_such_call, offer_cpu, thread_sleep};
use crate::Error;
use crate::clock::Host;
use punctual_core::{Limit, Method, Reason};

pub(super) const METHODS: &[Method] = &[
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
        match method {
            Method::Sleep | Method::Timer => Ok(Method::ThreadSleep),
            known if METHODS.contains(&known) => Ok(known),
            other => Err(no_such_call(other)),
        }
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::ConditionVariable => self.condition_variable.block(limit),
            Method::Yield => offer_cpu(),
            _ => thread_sleep(limit),
        }
    }
}
