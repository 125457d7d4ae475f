//! A wait under way, and the parts of its lateness.
//!
//! From one event to the next, the time after the deadline is given to one part. The parts
//! therefore sum to the lateness.

use punctual_record::LateParts;

use crate::behind::Behinds;
use crate::call::{Call, Ended, Timeout};
use crate::cpus::Cpus;

/// The state of a waiting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has a CPU.
    Running,
    /// It sleeps.
    Asleep,
    /// Something wakes it.
    Woken,
    /// It is in the run queue of this CPU.
    Ready(u32),
    /// It is in a run queue; the source does not see what its CPU does.
    Queued,
    /// A signal stopped it.
    Stopped,
}

/// A timer of a wait. Instants are those of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) address: u64,
    /// The first instant at which it may expire.
    pub(crate) soft: u64,
    /// And the one after which its expiry is late.
    pub(crate) hard: u64,
    /// Whether it is in the timer wheel.
    pub(crate) in_wheel: bool,
}

/// A wait whose timer the source does not see, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
struct Unseen {
    /// How late the kernel may let the timer be.
    leeway: Option<u64>,
    /// For how long it waited for a CPU in all.
    delay: Option<u64>,
    /// For how long of that it was seen in a run queue.
    queued: u64,
    /// For how long after its deadline it was seen stopped.
    stopped: u64,
    /// Whether it was seen to leave its CPU.
    has_left: bool,
    /// Whether it was seen on a CPU after its deadline.
    was_on: bool,
}

/// A thread that loses its CPU within this time after its call returned is still on its way back to the
/// program. The kernel preempts threads there. Linux 6.18 and later also stops threads whose quota is used up.
const ON_ITS_WAY: u64 = 20_000;

/// A wait.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) call: Call,
    pub(crate) timeout: Timeout,
    pub(crate) entered: u64,
    /// The instant that was asked for, once that is known.
    pub(crate) deadline: Option<u64>,
    pub(crate) timer: Option<Timer>,
    unseen: Option<Unseen>,
    pub(crate) expired: bool,
    /// A signal interrupted the call, which may go on.
    pub(crate) is_interrupted: bool,
    /// When it was called again after that, and its timer before.
    again: Option<(u64, Timer)>,
    pub(crate) phase: Phase,
    /// How and when the call returned.
    pub(crate) returned: Option<(Ended, u64)>,
    /// The parts until then: an event after it may be that of another wait.
    kept: LateParts,
    /// Time until here is given to parts.
    until: u64,
    pub(crate) parts: LateParts,
    pub(crate) behind: Behinds,
}

impl Wait {
    pub(crate) fn new(call: Call, timeout: Timeout, entered: u64) -> Self {
        let deadline = match timeout {
            Timeout::Length(ns) => Some(entered.saturating_add(ns)),
            _ => None,
        };
        Self {
            call,
            timeout,
            entered,
            deadline,
            timer: None,
            unseen: None,
            expired: false,
            is_interrupted: false,
            again: None,
            phase: Phase::Running,
            returned: None,
            kept: LateParts::default(),
            until: entered,
            parts: LateParts::default(),
            behind: Behinds::default(),
        }
    }

    /// The timer is armed by now, and the deadline is this unless it was known before.
    pub(crate) fn arm(&mut self, timer: Timer, deadline: u64) {
        if self.deadline.is_none() {
            self.deadline = Some(deadline);
            // While the deadline was not known, no part was given the time after it.
            self.parts.before = self.until.saturating_sub(deadline.max(self.entered));
        }
        self.timer = Some(timer);
        self.expired = false;
    }

    /// Its deadline, and how late its timer may be, which is not seen.
    pub(crate) fn is_due(&mut self, deadline: u64, leeway: Option<u64>, in_wheel: bool) {
        if self.returned.is_some() {
            return;
        }
        let timer = Timer {
            address: 0,
            soft: deadline,
            hard: deadline.saturating_add(leeway.unwrap_or(0)),
            in_wheel,
        };
        self.deadline = None;
        self.parts = LateParts::default();
        self.behind.clear();
        self.arm(timer, deadline);
        self.unseen = Some(Unseen {
            leeway,
            ..Unseen::default()
        });
    }

    /// It waited for a CPU for so long since the call.
    pub(crate) fn has_waited(&mut self, ns: u64) {
        if let Some(unseen) = &mut self.unseen {
            unseen.delay = Some(ns);
        }
    }

    /// It was stopped meanwhile.
    pub(crate) fn was_stopped(&mut self, since: u64, now: u64) {
        let since = since.max(self.deadline.unwrap_or(u64::MAX));
        if let Some(unseen) = &mut self.unseen {
            unseen.stopped = unseen.stopped.saturating_add(now.saturating_sub(since));
        }
    }

    /// The program goes on at this instant, unless it loses its CPU at once.
    pub(crate) fn returns(&mut self, ended: Ended, now: u64) {
        self.returned = Some((ended, now));
        self.kept = self.parts;
    }

    /// It is over, and its parts are those until the program went on.
    pub(crate) fn close(&mut self) {
        if self.returned.is_some() {
            self.parts = self.kept;
        }
    }

    /// Whether its source does not see its timer.
    pub(crate) fn hides_timer(&self) -> bool {
        self.unseen.is_some()
    }

    /// The slack of its timer, if that has one.
    pub(crate) fn slack(&self) -> Option<u64> {
        let timer = self.timer.filter(|timer| !timer.in_wheel)?;
        match self.unseen {
            Some(unseen) => unseen.leeway,
            None => Some(timer.hard.saturating_sub(timer.soft)),
        }
    }

    /// Gives the unknown time of a wait without a seen timer to parts, as far as its numbers show them. It waited for a CPU
    /// last; before that it was stopped; and before that its timer was late for as long as it may be at most.
    pub(crate) fn settle(&mut self) {
        let (Some(unseen), Some(timer)) = (&self.unseen, self.timer) else {
            return;
        };
        let parts = &mut self.parts;
        let take = |most: u64, from: &mut u64| {
            let ns = most.min(*from);
            *from -= ns;
            ns
        };
        let waking = unseen.delay.unwrap_or(0).saturating_sub(unseen.queued);
        for (most, to) in [
            (waking, &mut parts.cpu),
            (unseen.stopped, &mut parts.stopped),
        ] {
            let ns = take(most, &mut parts.unknown);
            *to += ns + take(most - ns, &mut parts.blocked);
        }
        let late = take(unseen.leeway.unwrap_or(0), &mut parts.unknown);
        match timer.in_wheel {
            true => parts.wheel += late,
            false => parts.slack += late,
        }
    }

    /// Whether a timer that the thread arms now is that of this wait. The kernel arms others on its
    /// behalf, and a call that looks for events several times arms its own each time.
    pub(crate) fn arms(&self, address: u64) -> bool {
        self.phase == Phase::Running
            && self.returned.is_none()
            && self.timer.is_none_or(|timer| timer.address == address)
    }

    /// Whether this call is the interrupted one, which goes on.
    pub(crate) fn goes_on(&self, call: Call, timeout: Timeout) -> bool {
        let is_same = call == self.call && timeout == self.timeout;
        let is_again =
            call == Call::RestartSyscall || is_same && matches!(timeout, Timeout::Until(_));
        self.is_interrupted && is_again
    }

    /// The call goes on after a signal, and arms a timer again.
    pub(crate) fn restart(&mut self, now: u64, cpus: &Cpus) -> Option<Timer> {
        self.advance(now, cpus);
        self.is_interrupted = false;
        let timer = self.timer.take()?;
        self.again = Some((now, timer));
        Some(timer)
    }

    /// When a new wait began that looked like this one going on: its timer is for another instant.
    pub(crate) fn ended_before(&self, timer: &Timer) -> Option<u64> {
        /// How far the clock of the time of day may have been set meanwhile.
        const SAME: u64 = 100_000;
        let (at, before) = self.again?;
        (before.soft.abs_diff(timer.soft) > SAME).then_some(at)
    }

    /// Gives the time until now to the part that it belongs to.
    pub(crate) fn advance(&mut self, now: u64, cpus: &Cpus) {
        let from = self.until;
        self.until = from.max(now);
        self.observe(self.until - from);
        // Before the deadline nothing is late; before it is known, see `arm`.
        let Some(from) = self.deadline.map(|deadline| deadline.max(from)) else {
            return;
        };
        if now <= from {
            return;
        }
        let length = now - from;
        let parts = &mut self.parts;
        match (self.phase, self.timer) {
            (Phase::Queued, _) => parts.cpu += length,
            (Phase::Running, Some(_)) if self.unseen.is_some_and(|it| !it.has_left) => {
                parts.unknown += length;
            }
            (Phase::Asleep, Some(_)) if self.unseen.is_some_and(|it| it.was_on) => {
                parts.blocked += length;
            }
            (Phase::Asleep, Some(_)) if self.unseen.is_some() => parts.unknown += length,
            (Phase::Running, None) => parts.before += length,
            (Phase::Running, Some(_)) => parts.return_ += length,
            (Phase::Ready(cpu), _) => cpus.split(cpu, from, now, parts, &mut self.behind),
            (Phase::Stopped, _) => parts.stopped += length,
            (Phase::Woken, _) => parts.wake_up += length,
            // The expiry wakes it at once; if it sleeps on, it is for something else.
            (Phase::Asleep, Some(_)) if self.expired => parts.blocked += length,
            (Phase::Asleep, Some(timer)) => {
                let until = |limit: u64, from: u64| limit.min(now).saturating_sub(from);
                let before = until(timer.soft, from);
                let slack = until(timer.hard, from + before);
                parts.before += before;
                match timer.in_wheel {
                    true => parts.wheel += slack,
                    false => parts.slack += slack,
                }
                parts.interrupt += length - before - slack;
            }
            (Phase::Asleep, None) => parts.unknown += length,
        }
    }

    /// Notes what this phase of some length shows of a wait without a seen timer.
    fn observe(&mut self, length: u64) {
        let Some(unseen) = &mut self.unseen else {
            return;
        };
        match self.phase {
            Phase::Queued => unseen.queued += length,
            Phase::Running if unseen.has_left => {
                unseen.was_on |= self.deadline.is_some_and(|deadline| deadline < self.until);
            }
            Phase::Running => {}
            _ => unseen.has_left = true,
        }
    }

    /// Whether the thread, which lost its CPU now and can go on, was still on its way back from the call.
    pub(crate) fn is_on_its_way(&self, now: u64) -> bool {
        self.returned.is_none_or(|(_, at)| now - at <= ON_ITS_WAY)
    }

    /// Events since the last one did not come, as the thread runs.
    pub(crate) fn miss(&mut self, now: u64) {
        if let Some(deadline) = self.deadline {
            self.parts.unknown += now.saturating_sub(deadline.max(self.until));
        }
        self.until = self.until.max(now);
        self.phase = Phase::Running;
    }

    /// The timer expired: from now on the thread is on its way.
    pub(crate) fn expire(&mut self, now: u64, cpus: &Cpus) {
        self.advance(now, cpus);
        self.expired = true;
        if self.phase == Phase::Asleep {
            self.phase = Phase::Woken;
        }
    }

    /// Events of it are missing: the parts so far cannot be told.
    pub(crate) fn forget_parts(&mut self) {
        let sum = self.parts.sum();
        self.parts = LateParts {
            unknown: sum,
            ..LateParts::default()
        };
        self.behind.clear();
    }

    /// How late it is by now; `None` if the deadline is not known.
    pub(crate) fn late(&self, now: u64) -> Option<i64> {
        let deadline = i128::from(self.deadline?);
        i64::try_from(i128::from(now) - deadline).ok()
    }

    /// The length that was asked for.
    pub(crate) fn asked(&self) -> Option<u64> {
        match self.timeout {
            Timeout::Length(ns) => Some(ns),
            _ => self.deadline.map(|d| d.saturating_sub(self.entered)),
        }
    }

    /// Whether its deadline had passed before it began.
    pub(crate) fn is_missed(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline < self.entered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;
    use proptest::prelude::*;

    /// An event of a wait.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Arm { until: u32, slack: u32 },
        Expire,
        Phase(Phase),
        Switch { thread: u32 },
        Forget,
        Miss,
        Due { until: u32, leeway: Option<u64> },
        Waited { ns: u64 },
        Stopped { since: u32 },
        Settle,
    }

    fn step() -> impl Strategy<Value = Step> {
        let phase = prop_oneof![
            Just(Phase::Running),
            Just(Phase::Asleep),
            Just(Phase::Woken),
            (0..2_u32).prop_map(Phase::Ready),
            Just(Phase::Queued),
            Just(Phase::Stopped),
        ];
        prop_oneof![
            2 => (0..5_000_u32, 0..5_000_u32).prop_map(|(until, slack)| Step::Arm { until, slack }),
            1 => Just(Step::Expire),
            6 => phase.prop_map(Step::Phase),
            2 => (0..3_u32).prop_map(|thread| Step::Switch { thread }),
            1 => Just(Step::Forget),
            1 => Just(Step::Miss),
            2 => (0..5_000_u32, prop::option::of(0..5_000_u64))
                .prop_map(|(until, leeway)| Step::Due { until, leeway }),
            1 => (0..5_000_u64).prop_map(|ns| Step::Waited { ns }),
            1 => (0..20_000_u32).prop_map(|since| Step::Stopped { since }),
            1 => Just(Step::Settle),
        ]
    }
    proptest! {
        /// However events follow each other, each nanosecond after the deadline is in one part.
        #[test]
        fn the_parts_sum_to_the_lateness(
            steps in prop::collection::vec((step(), 0..2_000_u64), 1..40),
            length in prop::option::of(0..20_000_u64),
        ) {
            let mut now = 10_000;
            let mut cpus = Cpus::default();
            let timeout = length.map_or(Timeout::Relative, Timeout::Length);
            let mut wait = Wait::new(Call::Ppoll, timeout, now);
            for (step, took) in steps {
                now += took;
                match step {
                    Step::Arm { until, slack } => {
                        wait.advance(now, &cpus);
                        let soft = (now + u64::from(until)).saturating_sub(2_500);
                        let hard = soft + u64::from(slack);
                        let timer = Timer { address: 1, soft, hard, in_wheel: slack % 2 == 0 };
                        wait.arm(timer, soft.max(wait.entered));
                    }
                    Step::Expire => wait.expire(now, &cpus),
                    Step::Phase(phase) => {
                        wait.advance(now, &cpus);
                        wait.phase = phase;
                    }
                    Step::Switch { thread } => {
                        cpus.switch(thread % 2, now, thread, Name::new(b"other"), false);
                    }
                    Step::Forget => wait.forget_parts(),
                    Step::Miss => wait.miss(now),
                    Step::Due { until, leeway } => {
                        wait.advance(now, &cpus);
                        let deadline = (now + u64::from(until)).saturating_sub(2_500);
                        wait.is_due(deadline.max(wait.entered), leeway, until % 2 == 0);
                    }
                    Step::Waited { ns } => wait.has_waited(ns),
                    Step::Stopped { since } => wait.was_stopped(since.into(), now),
                    Step::Settle => wait.settle(),
                }
            }
            wait.advance(now, &cpus);
            if let Some(late) = wait.late(now) {
                prop_assert_eq!(wait.parts.sum(), late.max(0) as u64, "{:?}", wait);
            }
        }
    }
}
