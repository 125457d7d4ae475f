//! The lateness that waits would have with another timer slack.

use crate::wait::Wait;

/// A timer slack of which the engine predicts the lateness, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slack(pub u64);

impl Default for Slack {
    /// The least that Linux grants.
    fn default() -> Self {
        Self(1)
    }
}

impl Slack {
    /// How late a wait would be that was `late`, all else being equal.
    pub(crate) fn late(self, wait: &Wait, late: i64) -> i64 {
        // Without any the thread has a real-time priority.
        let Some(in_force) = wait.slack().filter(|slack| *slack > 0) else {
            return late;
        };
        // Where the events do not show the time after the deadline, it began with the slack.
        let parts = &wait.parts;
        let used = parts
            .slack
            .saturating_add(parts.unknown)
            .min(in_force.max(parts.slack));
        let slack = self.0.max(least_slack(wait, in_force));
        // An interrupt within the slack let the timer expire: it would do so again.
        let served_sooner = used < in_force;
        let part = if served_sooner {
            used.min(slack)
        } else {
            slack
        };
        late.saturating_sub_unsigned(used)
            .saturating_add_unsigned(part)
    }
}

/// The slack of waits for events that does not depend on the thread: a thousandth of their length. A thread with a
/// positive nice value has five of them (`select_estimate_accuracy`, fs/select.c).
fn least_slack(wait: &Wait, in_force: u64) -> u64 {
    const MOST: u64 = 100_000_000;
    /// The kernel computes it a moment after the call. It is therefore no whole number of microseconds, as slacks that are set.
    const MOMENT: u64 = 1_000;
    if !wait.call.is_for_events() {
        return 0;
    }
    let length = wait.asked().unwrap_or(0);
    let [usual, nice] = [1_000, 200].map(|part| (length / part).min(MOST));
    let is_nice =
        (nice.saturating_sub(MOMENT)..=nice).contains(&in_force) && !in_force.is_multiple_of(1_000);
    if is_nice { nice } else { usual }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::{Call, Timeout};
    use crate::wait::Timer;
    use punctual_record::LateParts;

    /// A wait of `length` with this slack, of which it used `used`.
    fn wait(call: Call, length: u64, slack: u64, used: u64) -> (Wait, i64) {
        let mut wait = Wait::new(call, Timeout::Length(length), 0);
        wait.arm(
            Timer {
                address: 1,
                soft: length,
                hard: length + slack,
                in_wheel: false,
            },
            length,
        );
        wait.parts = LateParts {
            slack: used,
            interrupt: 3_000,
            wake_up: 4_000,
            cpu: 5_000,
            return_: 2_000,
            ..LateParts::default()
        };
        let late = wait.parts.sum() as i64;
        (wait, late)
    }

    fn predicted(slack: Slack, (wait, late): (Wait, i64)) -> i64 {
        slack.late(&wait, late)
    }

    #[test]
    fn less_slack_takes_its_part_and_more_adds_to_what_was_used() {
        let sleep = |used| wait(Call::ClockNanosleep, 5_000_000, 50_000, used);
        assert_eq!(predicted(Slack(1), sleep(50_000)), 14_001);
        assert_eq!(predicted(Slack(1), sleep(20_000)), 14_001);
        assert_eq!(predicted(Slack(2_000_000), sleep(50_000)), 2_014_000);
        // An interrupt that was there anyway comes again.
        assert_eq!(predicted(Slack(2_000_000), sleep(20_000)), 34_000);
        // A real-time thread has none.
        let real_time = wait(Call::ClockNanosleep, 5_000_000, 0, 0);
        assert_eq!(predicted(Slack(2_000_000), real_time), 14_000);
    }

    #[test]
    fn unknown_time_begins_with_the_slack() {
        let (mut hidden, late) = wait(Call::ClockNanosleep, 5_000_000, 50_000, 50_000);
        hidden.forget_parts();
        assert_eq!(predicted(Slack(1), (hidden, late)), 14_001);
        let (mut short, late) = wait(Call::ClockNanosleep, 5_000_000, 50_000, 0);
        short.forget_parts();
        assert_eq!(predicted(Slack(1), (short, late)), 1);
    }

    #[test]
    fn long_waits_for_events_keep_a_thousandth_of_their_length() {
        let poll = |slack| wait(Call::Poll, 100_000_000, slack, slack);
        assert_eq!(predicted(Slack(1), poll(100_000)), 114_000);
        assert_eq!(predicted(Slack(1), poll(499_990)), 514_000);
        assert_eq!(predicted(Slack(1), poll(500_000)), 114_000);
        assert_eq!(predicted(Slack(1), poll(2_000_000)), 114_000);
        let futex = wait(Call::Futex, 100_000_000, 50_000, 50_000);
        assert_eq!(predicted(Slack(1), futex), 14_001);
    }

    #[test]
    fn waits_without_a_timer_of_high_resolution_stay_as_late() {
        let (mut without, late) = wait(Call::Recvfrom, 5_000_000, 4_000_000, 4_000_000);
        without.timer = without.timer.map(|timer| Timer {
            in_wheel: true,
            ..timer
        });
        assert_eq!(predicted(Slack(1), (without, late)), late);
        let unarmed = Wait::new(Call::Nanosleep, Timeout::Relative, 0);
        assert_eq!(predicted(Slack(1), (unarmed, 9)), 9);
    }
}
