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
    pub(crate) expired: bool,
    /// A signal interrupted the call, which may go on.
    pub(crate) is_interrupted: bool,
    /// When it was called again after that, and its timer before.
    again: Option<(u64, Timer)>,
    pub(crate) phase: Phase,
    /// How and when the call returned.
    pub(crate) returned: Option<(Ended, u64)>,
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
            expired: false,
            is_interrupted: false,
            again: None,
            phase: Phase::Running,
            returned: None,
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

    /// The slack of its timer, if that has one.
    pub(crate) fn slack(&self) -> Option<u64> {
        let timer = self.timer.filter(|timer| !timer.in_wheel);
        timer.map(|timer| timer.hard.saturating_sub(timer.soft))
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
    }

    fn step() -> impl Strategy<Value = Step> {
        let phase = prop_oneof![
            Just(Phase::Running),
            Just(Phase::Asleep),
            Just(Phase::Woken),
            (0..2_u32).prop_map(Phase::Ready),
            Just(Phase::Stopped),
        ];
        prop_oneof![
            2 => (0..5_000_u32, 0..5_000_u32).prop_map(|(until, slack)| Step::Arm { until, slack }),
            1 => Just(Step::Expire),
            6 => phase.prop_map(Step::Phase),
            2 => (0..3_u32).prop_map(|thread| Step::Switch { thread }),
            1 => Just(Step::Forget),
            1 => Just(Step::Miss),
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
                }
            }
            wait.advance(now, &cpus);
            if let Some(late) = wait.late(now) {
                prop_assert_eq!(wait.parts.sum(), late.max(0) as u64, "{:?}", wait);
            }
        }
    }
}
