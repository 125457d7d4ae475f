//! Helpers for the tests of the rules.

use punctual_core::Method;

use crate::{Description, Expired, Random, Request, Rule, ThreadId, Time, linux, macos};

/// A model with values for its parameters, and then `given`, written as `key=value,key=value`.
/// The values are those of the simplest rule; what models have is `models.toml`'s.
pub(crate) fn text(model: &str, given: &str) -> String {
    let usual = match model.split('-').next() {
        Some("linux" | "wine") => LINUX,
        Some("macos") => MACOS,
        _ => WINDOWS,
    };
    format!("{model} {usual} {given}")
}

const LINUX: &str =
    "slack=50us rt_slack=none hz=250 nohz=idle highres=on slices=own timer_migration=off";
const MACOS: &str = "tier=1 idle_level=0 interrupts=250 app_nap=deep nap_look=5s";
const WINDOWS: &str = "interval=15.625ms finest=500us base=tick hardware=exact cycles=nearest cap=500us \
                       slip=0 class=expiry global=0 expiry=owner hires_late=5us";

/// The rule that this text describes.
pub(crate) fn described(model: &str, given: &str) -> Description {
    text(model, given).parse().expect("a rule")
}

/// A Linux kernel.
pub(crate) fn linux(given: &str) -> linux::Options {
    match described("linux", given) {
        Description::Linux(options) => options,
        other => panic!("{other:?}"),
    }
}

/// A Mac.
pub(crate) fn macos(given: &str) -> macos::Options {
    match described("macos", given) {
        Description::MacOs(options) => options,
        other => panic!("{other:?}"),
    }
}

/// Thread `thread` asks on CPU 0 at `now` for `length` more, in nanoseconds.
pub(crate) fn request(thread: ThreadId, method: Method, now: u64, length: u64) -> Request {
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
pub(crate) fn arm(rule: &mut dyn Rule, request: Request) {
    rule.arm(&request, &mut Random::new(0));
}

/// The timers that an interrupt of a CPU expires.
pub(crate) fn interrupt(rule: &mut dyn Rule, cpu: usize, now: Time) -> Vec<Expired> {
    let mut expired = Vec::new();
    rule.interrupt(cpu, now, &mut Random::new(0), &mut expired);
    expired
}

/// The threads that an interrupt of CPU 0 wakes, at a time in nanoseconds.
pub(crate) fn woken(rule: &mut dyn Rule, now: u64) -> Vec<ThreadId> {
    let expired = interrupt(rule, 0, Time::from_ns(now));
    expired.iter().map(|expired| expired.thread).collect()
}

/// When a lone timer goes off. It is disarmed by that.
pub(crate) fn fires(rule: &mut dyn Rule, request: Request) -> Time {
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
