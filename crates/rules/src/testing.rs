//! Helpers for the tests of the rules.

use punctual_core::Method;

use super::{Expired, Request, Rule, ThreadId};
use crate::clock::Time;
use crate::model::{Model, Parameters};
use crate::random::Random;

/// The parameters of a model that are in force after `given`, written as
/// `key=value,key=value`.
pub(super) fn parameters(model: &str, given: &str) -> Parameters {
    let known = Model::known().iter().find(|known| known.name == model);
    let mut parameters = known.expect("a known model").parameters();
    for part in given.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').expect("key=value");
        parameters.set(key, value).expect("a parameter");
    }
    parameters
}

/// Thread `thread` asks on CPU 0 at `now` for `length` more, in nanoseconds.
pub(super) fn request(thread: ThreadId, method: Method, now: u64, length: u64) -> Request {
    Request {
        thread,
        cpu: 0,
        method,
        now: Time::from_ns(now),
        due: Time::from_ns(now + length),
        tolerance: Time::ZERO,
    }
}

/// Arms a timer.
pub(super) fn arm(rule: &mut dyn Rule, request: Request) {
    rule.arm(&request, &mut Random::new(0));
}

/// The timers that an interrupt of a CPU expires.
pub(super) fn interrupt(rule: &mut dyn Rule, cpu: usize, now: Time) -> Vec<Expired> {
    let mut expired = Vec::new();
    rule.interrupt(cpu, now, &mut Random::new(0), &mut expired);
    expired
}

/// The threads that an interrupt of CPU 0 wakes, at a time in nanoseconds.
pub(super) fn woken(rule: &mut dyn Rule, now: u64) -> Vec<ThreadId> {
    let expired = interrupt(rule, 0, Time::from_ns(now));
    expired.iter().map(|expired| expired.thread).collect()
}

/// When a lone timer goes off. It is disarmed by that.
pub(super) fn fires(rule: &mut dyn Rule, request: Request) -> Time {
    arm(rule, request);
    let (at, cpu) = rule.next_interrupt().expect("a timer is armed");
    assert_eq!(cpu, request.cpu);
    assert_eq!(rule.next_interrupt_on(cpu), Some(at));
    let expired = interrupt(rule, cpu, at);
    assert_eq!(expired.len(), 1);
    assert_eq!(expired[0].thread, request.thread);
    assert_eq!(rule.next_interrupt(), None);
    at
}
