//! The calls of Windows.
//!
//! Windows takes no instant of the performance counter, so an instant is asked
//! for as the length that is left.
//!
//! Lengths do not run while the machine is suspended, and the counter does
//! ([`clock`](crate::clock)): the sleeper asks for a second at most, and then
//! looks.

mod handle;
mod message_timer;
mod wait_for_objects;
mod waitable_timer;
mod windows_sleep;

use super::condition_variable::ConditionVariable;
use super::sleeper::common::{no_such_call, refused, thread_sleep};
use crate::Error;
use crate::clock::Host;
use crate::handles::{HighResolution, Plain};
use handle::Handle;
use punctual_core::{Limit, Method, Reason};
use wait_for_objects::{MultipleObjects, SingleObject};

pub(super) const METHODS: &[Method] = &[
    Method::ConditionVariable,
    Method::WindowsSleep,
    Method::WindowsSleepEx,
    Method::WaitForSingleObject,
    Method::WaitForMultipleObjects,
    Method::WaitableTimer,
    Method::HighResolutionTimer,
    Method::WindowsMessageTimer,
    Method::ThreadSleep,
    Method::Yield,
];

/// The calls of one waiter, with the handles that some of them need.
#[derive(Debug, Default)]
pub(super) struct Calls {
    condition_variable: ConditionVariable,
    single_object: Handle<SingleObject>,
    multiple_objects: Handle<MultipleObjects>,
    plain: Handle<Plain>,
    high_resolution: Handle<HighResolution>,
}

impl Calls {
    pub(super) fn prepare(&mut self, method: Method) -> Result<Method, Error> {
        match method {
            Method::Sleep => return Ok(Method::WindowsSleep),
            Method::Timer => {
                return match self.high_resolution.make() {
                    Ok(()) => Ok(Method::HighResolutionTimer),
                    Err(_) => self.prepare(Method::WaitableTimer),
                };
            }
            Method::WaitForSingleObject => self.single_object.prepare()?,
            Method::WaitForMultipleObjects => self.multiple_objects.prepare()?,
            Method::WaitableTimer => self.plain.prepare()?,
            Method::HighResolutionTimer => self.high_resolution.prepare_high_resolution()?,
            Method::WindowsMessageTimer => message_timer::prepare(),
            _ if METHODS.contains(&method) => {}
            _ => return Err(no_such_call(method)),
        }
        Ok(method)
    }

    pub(super) fn block(&mut self, method: Method, limit: Limit<Host>) -> Reason {
        match method {
            Method::Sleep | Method::WindowsSleep => windows_sleep::block(limit),
            Method::WindowsSleepEx => windows_sleep::block_ex(limit),
            Method::Yield => windows_sleep::offer(),
            Method::ConditionVariable => self.condition_variable.block(limit),
            Method::WaitForSingleObject => self.single_object.block(limit),
            Method::WaitForMultipleObjects => self.multiple_objects.block(limit),
            Method::Timer => match self.high_resolution.get() {
                Some(_) => self.high_resolution.block(limit),
                None => self.plain.block(limit),
            },
            Method::WaitableTimer => self.plain.block(limit),
            Method::HighResolutionTimer => self.high_resolution.block(limit),
            Method::WindowsMessageTimer => message_timer::block(limit),
            Method::ThreadSleep => thread_sleep(limit),
            _ => refused(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use punctual_core::Nanos;

    /// Whatever the timer interrupt does, a wait ends at most one interval
    /// (15.6 ms) early on our clock, so this much is left of it.
    const ASKED: Limit<Host> = Limit::For(Nanos::from_ms(40));
    const LEAST: Nanos = Nanos::from_ms(20);

    #[test]
    fn each_call_blocks() {
        let mut calls = Calls::default();
        for method in METHODS.iter().filter(|m| **m != Method::Yield) {
            for _ in 0..2 {
                let start = clock::now();
                assert_eq!(calls.block(*method, ASKED), Reason::Timer, "{method}");
                assert!(clock::now().since(start) >= LEAST, "{method}");
            }
        }
    }

    #[test]
    fn a_general_timer_says_which_one_it_is() {
        let mut calls = Calls::default();
        let granted = calls.prepare(Method::Timer).unwrap();
        match calls.prepare(Method::HighResolutionTimer) {
            Ok(method) => {
                assert_eq!(method, Method::HighResolutionTimer);
                assert_eq!(granted, Method::HighResolutionTimer);
            }
            Err(error) => {
                assert!(error.is_unsupported());
                assert!(error.to_string().contains("1803"));
                assert_eq!(granted, Method::WaitableTimer);
            }
        }
        assert_eq!(calls.prepare(Method::Sleep).unwrap(), Method::WindowsSleep);
    }

    /// What a wait does on a Windows without high-resolution timers.
    #[test]
    fn a_refused_timer_waits_anyway() {
        let mut calls = Calls {
            high_resolution: Handle::Refused,
            ..Calls::default()
        };
        for method in [Method::Timer, Method::HighResolutionTimer] {
            let start = clock::now();
            assert_eq!(calls.block(method, ASKED), Reason::Timer);
            assert!(clock::now().since(start) >= LEAST);
        }
        assert!(matches!(calls.plain, Handle::Made(_)));
    }
}
