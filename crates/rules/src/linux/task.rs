use punctual_core::Nanos;

use crate::Time;
use crate::setting::{Policy, Priority};

/// The longest slack that follows from the length of a timeout (`MAX_SLACK`,
/// fs/select.c).
const LONGEST_POLL_SLACK: u64 = 100_000_000;

/// The properties of a thread that its timers depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    slack: Nanos,
    default_slack: Nanos,
    /// Whether a real-time thread keeps its slack, and calls make an exception of it.
    keeps_slack: bool,
    is_real_time: bool,
    /// Whether it is a `SCHED_DEADLINE` thread, whose children are ordinary ones.
    is_deadline: bool,
    nice: i8,
}

impl Task {
    /// The first of all.
    pub(super) fn first(slack: Nanos, keeps_slack: bool) -> Self {
        Self {
            slack,
            default_slack: slack,
            keeps_slack,
            is_real_time: false,
            is_deadline: false,
            nice: 0,
        }
    }

    /// A thread or a process that this one creates. Its default is the current
    /// slack of this one (`copy_process`, kernel/fork.c, which fork(2) and
    /// clone(2) share); nice value and policy are inherited too (sched(7)), except of a `SCHED_DEADLINE`
    /// thread.
    pub(super) fn child(self) -> Self {
        Self {
            default_slack: self.slack,
            is_real_time: self.is_real_time && !self.is_deadline,
            is_deadline: false,
            ..self
        }
    }

    /// Zero goes back to the default (prctl(2), PR_SET_TIMERSLACK). A real-time thread has none to set
    /// since Linux 6.12; before, it keeps what it sets for the time after.
    pub(super) fn set_slack(&mut self, slack: Nanos) {
        if self.is_real_time && !self.keeps_slack {
            return;
        }
        self.slack = if slack.is_zero() {
            self.default_slack
        } else {
            slack
        };
    }

    pub(super) fn set_priority(&mut self, priority: Priority) {
        self.is_deadline = false;
        self.set_real_time(priority == Priority::RealTime);
        self.nice = match priority {
            Priority::Background => 19,
            Priority::Utility => 10,
            Priority::Normal => 0,
            Priority::Interactive => -10,
            // It counts again when the thread is an ordinary one.
            Priority::RealTime => self.nice,
        };
    }

    pub(super) fn set_policy(&mut self, policy: Policy) {
        self.is_deadline = matches!(policy, Policy::Deadline(_));
        let is_real_time = matches!(policy, Policy::Fifo(_) | Policy::RoundRobin(_));
        self.set_real_time(is_real_time || self.is_deadline);
    }

    /// Whether it is at a real-time policy from now on (`__setscheduler_params`, kernel/sched/syscalls.c).
    fn set_real_time(&mut self, is_real_time: bool) {
        self.is_real_time = is_real_time;
        if self.keeps_slack {
            return;
        }
        if is_real_time {
            self.slack = Nanos::ZERO;
        } else if self.slack.is_zero() {
            self.slack = self.default_slack;
        }
    }

    pub(super) fn set_nice(&mut self, nice: i8) {
        self.nice = nice;
    }

    /// The slack that the OS reports.
    pub(super) fn slack(self) -> Nanos {
        self.slack
    }

    /// The slack of a sleep. It does not count for real-time threads
    /// (prctl(2)).
    pub(super) fn sleep_slack(self) -> Time {
        match self.is_real_time {
            true => Time::ZERO,
            false => self.slack.into(),
        }
    }

    /// The slack of a futex. Before Linux 6.12 no exception was made of real-time threads there (commit
    /// ed4fb6d7ef68).
    pub(super) fn futex_slack(self) -> Time {
        self.slack.into()
    }

    /// The slack of a `poll`, `select` or `epoll_wait` that is to last `length`. It is a
    /// thousandth of the length, or five times as much with a nice value above 0. It is at least
    /// the slack of a sleep (`select_estimate_accuracy`, fs/select.c). `None` if that is none.
    pub(super) fn poll_slack(self, length: Time) -> Time {
        if self.is_real_time || self.slack.is_zero() {
            return Time::ZERO;
        }
        Time::from_ns(poll_slack_ns(length.floor_ns(), self.nice > 0)).max(self.sleep_slack())
    }
}

/// The slack that the kernel gives a `poll`, `select` or `epoll_wait` for its length, in nanoseconds. It is a thousandth, or
/// five times as much with a nice value above 0. It counts if it is more than the slack of the thread.
pub const fn poll_slack_ns(length_ns: u64, is_nice: bool) -> u64 {
    let part = length_ns / if is_nice { 200 } else { 1_000 };
    if part < LONGEST_POLL_SLACK {
        part
    } else {
        LONGEST_POLL_SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_poll_has_more_slack_than_a_sleep() {
        let us = |us: u64| Time::from_ns(1_000 * us);
        let mut task = Task::first(Nanos::from_us(50), true);
        for (priority, length, slack) in [
            (Priority::Normal, us(100), us(50)),
            (Priority::Normal, us(50_000), us(50)),
            (Priority::Normal, us(70_000), us(70)),
            (Priority::Normal, us(1_000_000), us(1_000)),
            (Priority::Normal, us(1_000_000_000), us(100_000)),
            (Priority::Interactive, us(1_000_000), us(1_000)),
            (Priority::Utility, us(100), us(50)),
            (Priority::Utility, us(70_000), us(350)),
            (Priority::Background, us(1_000_000), us(5_000)),
            (Priority::Background, us(30_000_000), us(100_000)),
            (Priority::RealTime, us(1_000_000), us(0)),
        ] {
            task.set_priority(priority);
            assert_eq!(task.poll_slack(length), slack, "{priority} {length:?}");
        }
    }

    #[test]
    fn only_the_part_that_follows_from_the_length_has_a_cap() {
        let task = Task::first(Nanos::from_ms(300), false);
        assert_eq!(task.poll_slack(Time::NEVER), Time::from_ns(300_000_000));
    }

    const US: fn(u64) -> Nanos = Nanos::from_us;

    /// Before Linux 6.12.
    #[test]
    fn a_real_time_thread_keeps_its_slack_for_later() {
        let mut task = Task::first(US(50), true);
        task.set_priority(Priority::RealTime);
        task.set_slack(US(7));
        assert_eq!((task.slack(), task.sleep_slack()), (US(7), Time::ZERO));
        assert_eq!(task.futex_slack(), US(7).into());
        assert_eq!(task.child().sleep_slack(), Time::ZERO);
        task.set_priority(Priority::Normal);
        assert_eq!(task.sleep_slack(), US(7).into());
    }

    /// Since Linux 6.12 (commit ed4fb6d7ef68).
    #[test]
    fn a_real_time_thread_has_no_slack_and_the_default_afterwards() {
        let mut task = Task::first(US(50), false);
        task.set_slack(US(2_000));
        task.set_priority(Priority::RealTime);
        task.set_slack(US(3_000));
        assert_eq!((task.slack(), task.futex_slack()), (US(0), Time::ZERO));
        let mut child = task.child();
        task.set_priority(Priority::Utility);
        assert_eq!(task.slack(), US(50));
        // Its default is that of who created it: none, as long as it sets none of its own.
        for priority in [Priority::RealTime, Priority::Normal] {
            child.set_priority(priority);
            assert_eq!(child.slack(), US(0));
        }
        assert_eq!(child.poll_slack(US(1_000_000).into()), Time::ZERO);
        child.set_slack(US(9));
        child.set_priority(Priority::Interactive);
        assert_eq!(child.slack(), US(9));
    }
}
