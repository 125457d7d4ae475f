use std::collections::BTreeSet;

use punctual_core::{Method, Nanos};

use super::windows::BEFORE_HIGH_RESOLUTION;
use super::windows::lengths::taken;
use crate::linux::Options;
use crate::{
    Answer, Expired, Grid, Linux, OsClock, ProcessId, Random, Request, Rule, Setting, ThreadId,
    Time,
};

/// Wine on Linux: a Windows program whose waits are those of the host.
///
/// `Sleep` and `SleepEx` wait in `select` (`NtDelayExecution`, dlls/ntdll/unix/sync.c). A waitable
/// timer is one of the wineserver's, which waits in `epoll` (server/fd.c); older servers wait
/// whole milliseconds there. The same holds for the timeouts of waits for objects, and the timers
/// of `SetTimer`. All these have the slack of a `poll`. A condition variable waits in a futex
/// (`NtWaitForAlertByThreadId`, dlls/ntdll/unix/sync.c) with the slack of a sleep. Wine grants
/// timers of high resolution without knowing them, so the model has none.
///
/// Wine answers questions about timer resolution and does nothing about it. It remembers of each
/// process whether it asked. It reports an interval of 1 ms, of 15.625 at most and 1 at least. It
/// refuses to withdraw a request that was never made (`NtQueryTimerResolution` and
/// `NtSetTimerResolution`, dlls/ntdll). The effect of a priority on the host depends on Wine's
/// version and its rights, so it does not change slack here.
#[derive(Clone, Debug)]
pub struct Wine {
    host: Linux,
    /// The processes that asked for a resolution and have not withdrawn it.
    have_asked: BTreeSet<ProcessId>,
}

/// The answer of `NtQueryTimerResolution` as the current interval.
const STATED: Nanos = Nanos::from_ms(1);

impl Wine {
    /// Wine on such a kernel.
    pub fn new(host: &Options) -> Self {
        Self {
            host: Linux::new(host),
            have_asked: BTreeSet::new(),
        }
    }
}

impl Rule for Wine {
    fn methods(&self) -> &[Method] {
        BEFORE_HIGH_RESOLUTION
    }

    fn yields_for_nothing(&self, method: Method) -> bool {
        matches!(method, Method::WindowsSleep | Method::WindowsSleepEx)
    }

    fn arm(&mut self, request: &Request, random: &mut Random) {
        let length = request.due - request.now;
        let length = match request.method {
            Method::WaitableTimer => length,
            method => taken(method, length),
        };
        let method = match request.method {
            Method::ConditionVariable => Method::Futex,
            _ => Method::Poll,
        };
        let on_host = Request {
            method,
            due: request.now + length,
            ..*request
        };
        self.host.arm(&on_host, random);
    }

    fn disarm(&mut self, thread: ThreadId) {
        self.host.disarm(thread);
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        self.host.next_interrupt()
    }

    fn next_interrupt_on(&self, cpu: usize) -> Option<Time> {
        self.host.next_interrupt_on(cpu)
    }

    fn interrupt(
        &mut self,
        cpu: usize,
        now: Time,
        random: &mut Random,
        expired: &mut Vec<Expired>,
    ) {
        self.host.interrupt(cpu, now, random, expired);
    }

    fn refuses(&self, setting: &Setting) -> Option<&'static str> {
        match setting {
            Setting::Slack(_) => Some("a Windows program has no call for timer slack"),
            Setting::Nice(_) | Setting::Slice(_) | Setting::Policy(_) => {
                Some("a Windows program has no call for it: set a priority")
            }
            Setting::Throttling(_) => {
                Some("Wine does nothing about requests, so that there is nothing to throttle")
            }
            _ => None,
        }
    }

    fn set(&mut self, _: ThreadId, process: ProcessId, setting: Setting, _: Time) -> Answer {
        match setting {
            Setting::Request { .. } => {
                self.have_asked.insert(process);
                Answer::Accepted
            }
            Setting::Release { .. } if !self.have_asked.remove(&process) => Answer::Denied,
            _ => Answer::Accepted,
        }
    }

    fn created(&mut self, thread: ThreadId, process: ProcessId, by: Option<ThreadId>) {
        self.host.created(thread, process, by);
    }

    fn left(&mut self, thread: ThreadId) {
        self.host.left(thread);
    }

    fn ended(&mut self, process: ProcessId, _: Time) {
        self.have_asked.remove(&process);
    }

    fn ticks(&self, cpu: usize, is_idle: bool) -> Option<Grid> {
        self.host.ticks(cpu, is_idle)
    }

    fn clock(&self) -> Option<OsClock> {
        Some(OsClock::PerformanceCounter)
    }

    fn stated_interval(&self) -> Option<Nanos> {
        Some(STATED)
    }
}

#[cfg(test)]
mod tests {
    use crate::setting::Priority;

    use super::*;
    use crate::testing::{self, arm, fires, interrupt, request};

    const NS_PER_MS: u64 = 1_000_000;

    fn wine(given: &str) -> Wine {
        let mut wine = Wine::new(&testing::linux(given));
        wine.created(0, 0, None);
        wine.created(1, 1, Some(0));
        wine
    }

    fn set(wine: &mut Wine, process: ProcessId, setting: Setting) -> Answer {
        assert_eq!(wine.refuses(&setting), None);
        wine.set(process, process, setting, Time::ZERO)
    }

    #[test]
    fn waits_are_those_of_the_host() {
        for (given, method, length, want) in [
            ("", Method::WindowsSleep, NS_PER_MS, 1_050_000),
            ("", Method::WindowsSleep, NS_PER_MS + 1, 2_050_000),
            ("", Method::WindowsSleep, 100 * NS_PER_MS, 100_100_000),
            ("", Method::WindowsSleep, 0, 0),
            ("", Method::WaitableTimer, NS_PER_MS + 1, 1_050_001),
            ("slack=1ns", Method::WindowsSleep, 300, 1_001_000),
            ("", Method::WindowsSleepEx, 300, 1_050_000),
            ("", Method::WaitForSingleObject, 300, 1_050_000),
            (
                "",
                Method::WaitForMultipleObjects,
                100 * NS_PER_MS,
                100_100_000,
            ),
            ("", Method::ConditionVariable, 300, 1_050_000),
            ("", Method::ConditionVariable, 100 * NS_PER_MS, 100_050_000),
            ("", Method::WindowsMessageTimer, 300, 10_050_000),
            ("highres=off", Method::WindowsSleep, NS_PER_MS, 4_000_000),
        ] {
            let at = fires(&mut wine(given), request(0, method, 0, length));
            assert_eq!(at, Time::from_ns(want), "{given} {method} {length}");
        }
    }

    #[test]
    fn timers_are_armed_and_disarmed_at_the_host() {
        let mut wine = wine("nohz=periodic");
        for cpu in 0..2 {
            let request = Request {
                cpu,
                ..request(cpu, Method::WindowsSleep, 0, NS_PER_MS)
            };
            arm(&mut wine, request);
        }
        wine.disarm(0);
        let at = Time::from_ns(1_050_000);
        assert_eq!(wine.next_interrupt(), Some((at, 1)));
        assert_eq!(wine.next_interrupt_on(0), None);
        assert_eq!(interrupt(&mut wine, 1, at)[0].thread, 1);
        assert_eq!(wine.ticks(0, true), wine.host.ticks(0, true));
    }

    #[test]
    fn whatever_is_asked_for_the_answer_is_1_ms() {
        let mut wine = wine("");
        for interval in [Nanos::from_us(500), Nanos::from_ms(1), Nanos::from_ms(15)] {
            assert_eq!(wine.stated_interval(), Some(Nanos::from_ms(1)));
            assert_eq!(wine.interval(), None);
            let answer = set(&mut wine, 0, Setting::request(interval));
            assert_eq!(answer, Answer::Accepted);
        }
        let at = fires(&mut wine, request(0, Method::WindowsSleep, 0, NS_PER_MS));
        assert_eq!(at, Time::from_ns(1_050_000));
    }

    #[test]
    fn a_release_without_a_request_is_denied() {
        let mut wine = wine("");
        let request = Setting::request(Nanos::from_ms(1));
        let release = Setting::release(Nanos::from_ms(1));
        assert_eq!(set(&mut wine, 0, release), Answer::Denied);
        // Two requests of a process are one to Wine, and its own.
        assert_eq!(set(&mut wine, 0, request), Answer::Accepted);
        assert_eq!(set(&mut wine, 0, request), Answer::Accepted);
        assert_eq!(set(&mut wine, 1, release), Answer::Denied);
        assert_eq!(set(&mut wine, 0, release), Answer::Accepted);
        assert_eq!(set(&mut wine, 0, release), Answer::Denied);
    }

    #[test]
    fn a_priority_does_not_take_slack_away() {
        let mut wine = wine("");
        let real_time = Setting::Priority(Priority::RealTime);
        assert_eq!(set(&mut wine, 0, real_time), Answer::Accepted);
        let at = fires(&mut wine, request(0, Method::WaitableTimer, 0, 300));
        assert_eq!(at, Time::from_ns(50_300));
        assert!(wine.refuses(&Setting::Slack(Nanos::ZERO)).is_some());
        let throttling = Setting::Throttling(Default::default());
        assert!(wine.refuses(&throttling).is_some());
    }
}
