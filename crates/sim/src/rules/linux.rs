use std::collections::{BTreeMap, BTreeSet};

use punctual_core::program::SpawnKind;
use punctual_core::wait::Reason;
use punctual_core::{Method, Nanos};

use super::{Expired, Request, Rule, ThreadId};
use crate::random::Random;
use crate::time::Time;

/// Linux high-resolution timers, for normal threads.
///
/// A timer has a soft expiry, the deadline, and a hard one, the deadline plus
/// the thread's timer slack. Each CPU has a queue, ordered by hard expiry, and
/// its hardware is set to the earliest. An interrupt takes timers from the front
/// while their soft expiry has passed and stops at the first whose has not,
/// even if one behind it is due (`__hrtimer_run_queues`,
/// kernel/time/hrtimer.c). So a lone timer fires at deadline plus slack, never
/// early. A timerfd has no slack (prctl(2), PR_SET_TIMERSLACK).
///
/// A new thread copies the current slack of its creator into its own default
/// and current slack; setting 0 goes back to the default (prctl(2)).
#[derive(Clone, Debug)]
pub struct Linux {
    wake: Time,
    jitter: Time,
    /// Current and default slack of each thread.
    slack: Vec<(Nanos, Nanos)>,
    armed: BTreeMap<usize, Queue>,
}

/// The timers of a CPU: hard expiry, soft expiry, thread.
type Queue = BTreeSet<(Time, Time, ThreadId)>;

impl Linux {
    /// The slack of a thread that nobody changed (prctl(2)).
    pub const SLACK: Nanos = Nanos::from_us(50);

    /// From expiry to running: 57.8 us measured for a sleep of 0.1 us with
    /// 50 us of slack (OpenJDK pull request 13889), so about 8 us. It depends
    /// on the machine and its idle states: 3 to 30 us elsewhere.
    pub const WAKE: Nanos = Nanos::from_us(8);

    /// How far either way the wake latency varies, uniformly: of the order of
    /// the +-0.15 to 0.62 us in the same measurement.
    pub const JITTER: Nanos = Nanos::new(500);

    /// Linux whose first thread has this slack, with a wake latency of `wake`
    /// give or take `jitter`, which is at most `wake`.
    pub fn new(slack: Nanos, wake: Nanos, jitter: Nanos) -> Self {
        Self {
            wake: wake.into(),
            jitter: jitter.into(),
            slack: vec![(slack, slack)],
            armed: BTreeMap::new(),
        }
    }
}

impl Rule for Linux {
    fn methods(&self) -> &[Method] {
        &[Method::ClockNanosleep, Method::Timerfd]
    }

    fn arm(&mut self, request: &Request, _random: &mut Random) {
        let slack = match request.method {
            Method::Timerfd => Nanos::ZERO,
            _ => self.slack[request.thread].0,
        };
        let queue = self.armed.entry(request.cpu).or_default();
        queue.insert((request.due + slack.into(), request.due, request.thread));
    }

    fn disarm(&mut self, thread: ThreadId) {
        for queue in self.armed.values_mut() {
            queue.retain(|(_, _, armed)| *armed != thread);
        }
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        let earliest = |(cpu, queue): (&usize, &Queue)| Some((queue.first()?.0, *cpu));
        self.armed.iter().filter_map(earliest).min()
    }

    fn interrupt(&mut self, cpu: usize, now: Time, expired: &mut Vec<Expired>) {
        let Some(queue) = self.armed.get_mut(&cpu) else {
            return;
        };
        while let Some((_, _, thread)) = queue.first().copied().filter(|(_, soft, _)| *soft <= now)
        {
            queue.pop_first();
            expired.push(Expired {
                thread,
                reason: Reason::Timer,
            });
        }
    }

    fn wake_latency(&self, random: &mut Random) -> Time {
        self.wake - self.jitter + random.below(self.jitter.times(2))
    }

    fn has_slack(&self) -> bool {
        true
    }

    fn set_slack(&mut self, thread: ThreadId, slack: Nanos) {
        let (current, default) = &mut self.slack[thread];
        *current = if slack.is_zero() { *default } else { slack };
    }

    fn created(&mut self, thread: ThreadId, by: ThreadId, kind: SpawnKind) {
        let (current, default) = self.slack[by];
        let inherited = match kind {
            SpawnKind::Thread => (current, current),
            // fork(2) copies both.
            SpawnKind::Process => (current, default),
        };
        self.slack.resize(thread + 1, inherited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(slack_ns: u64) -> Linux {
        Linux::new(Nanos::new(slack_ns), Nanos::ZERO, Nanos::ZERO)
    }

    fn arm(rule: &mut Linux, thread: ThreadId, method: Method, due_ns: u64) {
        let due = Time::from_ns(due_ns);
        rule.arm(
            &Request {
                thread,
                cpu: 0,
                method,
                now: Time::ZERO,
                due,
            },
            &mut Random::new(0),
        );
    }

    fn fires_at(rule: &mut Linux, now_ns: u64) -> Vec<ThreadId> {
        let mut expired = Vec::new();
        rule.interrupt(0, Time::from_ns(now_ns), &mut expired);
        expired.iter().map(|e| e.thread).collect()
    }

    /// The early stop: A (soft 10, hard 20) stands before B (soft 5, hard 30),
    /// so an interrupt at 7 takes nothing, and one at 12 takes both.
    #[test]
    fn an_interrupt_stops_at_the_first_timer_that_is_not_due() {
        let mut linux = rule(10);
        linux.created(1, 0, SpawnKind::Thread);
        linux.set_slack(1, Nanos::new(25));
        arm(&mut linux, 0, Method::ClockNanosleep, 10);
        arm(&mut linux, 1, Method::ClockNanosleep, 5);
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(20), 0)));
        assert_eq!(fires_at(&mut linux, 7), []);
        assert_eq!(fires_at(&mut linux, 12), [0, 1]);
    }

    #[test]
    fn an_interrupt_leaves_the_timers_of_other_cpus_alone() {
        let mut linux = rule(10);
        linux.created(1, 0, SpawnKind::Thread);
        for (thread, cpu) in [(0, 0), (1, 1)] {
            let due = Time::from_ns(5);
            let method = Method::ClockNanosleep;
            let request = Request {
                thread,
                cpu,
                method,
                now: Time::ZERO,
                due,
            };
            linux.arm(&request, &mut Random::new(0));
        }
        assert_eq!(fires_at(&mut linux, 15), [0]);
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(15), 1)));
    }

    #[test]
    fn a_timerfd_has_no_slack() {
        let mut linux = rule(50_000);
        arm(&mut linux, 0, Method::Timerfd, 300);
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(300), 0)));
    }

    #[test]
    fn a_thread_inherits_the_current_slack_as_its_default() {
        let mut linux = rule(50_000);
        linux.set_slack(0, Nanos::from_ms(2));
        linux.created(1, 0, SpawnKind::Thread);
        linux.set_slack(1, Nanos::new(1));
        linux.set_slack(1, Nanos::ZERO);
        linux.set_slack(0, Nanos::ZERO);
        arm(&mut linux, 1, Method::ClockNanosleep, 0);
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(2_000_000), 0)));
        linux.disarm(1);
        linux.set_slack(1, Nanos::new(7));
        linux.created(2, 1, SpawnKind::Process);
        linux.set_slack(2, Nanos::ZERO);
        arm(&mut linux, 2, Method::ClockNanosleep, 0);
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(2_000_000), 0)));
        linux.disarm(2);
        arm(&mut linux, 0, Method::ClockNanosleep, 0);
        assert_eq!(linux.next_interrupt(), Some((Time::from_ns(50_000), 0)));
    }
}
