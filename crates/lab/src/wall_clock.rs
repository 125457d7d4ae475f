//! Steps of the wall clock.
//!
//! Time synchronisation, an administrator or a virtual machine that was paused set the time of day
//! forward or back. Lateness does not feel it, as it is measured on a clock that never steps. But
//! what others logged at that time has other dates, and a pause of the machine may have been the
//! cause of a hiccup. This state machine is given both clocks now and then, finds the steps, and
//! dates instants of the steady clock.

use punctual_core::Nanos;
use punctual_record::ClockStep;

/// Both clocks, read one right after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The steady clock before the wall clock was read, from any beginning.
    pub before: Nanos,
    /// The time of day, in nanoseconds since 1970 in UTC.
    pub wall_ns: i64,
    /// The steady clock afterwards.
    pub after: Nanos,
    /// How long the computer was suspended since it started, which the steady clock may leave out;
    /// `None` where that is not told.
    pub suspended: Option<Nanos>,
    /// Whether the system told that the wall clock was set since the reading before.
    pub was_set: bool,
}

/// Finds steps in readings, which come in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct WallClock {
    first: Option<Nanos>,
    last: Option<Reading>,
    steps: Vec<ClockStep>,
    /// From when on the wall clock was ahead of the steady one by so much.
    offsets: Vec<(Nanos, i64)>,
}

const LEAST_NS: i64 = ClockStep::LEAST_NS as i64;

/// Clocks may drift apart by this part of the time: twice what time synchronisation may correct at
/// once (adjtimex(2): 500 millionths).
const DRIFT: i64 = 1_000;

impl WallClock {
    /// Takes the next reading, and returns the step since the one before it.
    pub fn read(&mut self, now: Reading) -> Option<ClockStep> {
        let first = *self.first.get_or_insert(now.before);
        let offset = now.wall_ns.saturating_sub(signed(now.after));
        let Some(last) = self.last.replace(now) else {
            self.offsets.push((Nanos::ZERO, offset));
            return None;
        };
        let wall = now.wall_ns.saturating_sub(last.wall_ns);
        let suspended = now.suspended.zip(last.suspended);
        let suspended = suspended.map_or(0, |(now, last)| signed(now - last));
        // The least and the most time that passed between the two readings of the wall clock.
        let least = signed(now.before - last.after).saturating_add(suspended);
        let most = signed(now.after - last.before).saturating_add(suspended);
        let unnoticed = LEAST_NS + most / DRIFT;
        let by_ns = if wall > most.saturating_add(unnoticed) {
            wall - most
        } else if wall < least.saturating_sub(unnoticed) {
            wall.saturating_sub(least)
        } else {
            if suspended > LEAST_NS {
                self.offsets.push((last.after, offset));
            }
            // A resume counts as set.
            if !now.was_set || suspended > LEAST_NS {
                return None;
            }
            wall - wall.clamp(least, most)
        };
        self.offsets.push((last.after, offset));
        let step = ClockStep {
            at_ns: (now.after - first).as_ns(),
            by_ns,
        };
        self.steps.push(step);
        Some(step)
    }

    /// All steps, the first of too many.
    pub fn steps(&self) -> Vec<ClockStep> {
        const KEPT: usize = 100;
        self.steps.iter().take(KEPT).copied().collect()
    }

    /// The time of day at an instant of the steady clock, in nanoseconds since 1970 in UTC. An
    /// instant between two readings with a step is dated after the step.
    pub fn date_ns(&self, at: Nanos) -> i64 {
        let later = self.offsets.partition_point(|(from, _)| *from <= at);
        let offset = later.checked_sub(1).map_or(0, |last| self.offsets[last].1);
        signed(at).saturating_add(offset)
    }
}

fn signed(length: Nanos) -> i64 {
    i64::try_from(length.as_ns()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn s(tenths: u64) -> Nanos {
        Nanos::from_ms(100 * tenths)
    }

    /// A reading that took 5 us.
    fn reading(tenths: u64, ahead_ns: i64) -> Reading {
        let before = s(tenths);
        Reading {
            before,
            wall_ns: 1_700_000_000 * S + signed(before) + 2_000 + ahead_ns,
            after: before + Nanos::from_us(5),
            suspended: Some(Nanos::ZERO),
            was_set: false,
        }
    }

    fn steps_ms(clock: &WallClock) -> Vec<i64> {
        let steps = clock.steps();
        // Known to the time that the readings took.
        let round = |ns: i64| (ns + 500_000).div_euclid(1_000_000);
        steps.iter().map(|step| round(step.by_ns)).collect()
    }

    #[test]
    fn each_step_is_noticed_once_and_dates_follow_it() {
        let mut clock = WallClock::default();
        let mut ahead = 0;
        for (tenths, by) in (1..).zip([0, 0, 400, 0, 400, 400, 0, -1_200, 0, 3_600_000, 0]) {
            ahead += by * 1_000_000;
            let step = clock.read(reading(tenths, ahead));
            assert_eq!(step.is_some(), by != 0, "{tenths}");
        }
        assert_eq!(steps_ms(&clock), [400, 400, 400, -1_200, 3_600_000]);
        assert_eq!(clock.steps()[0].at_ns, 200_005_000);
        let since = |tenths| clock.date_ns(s(tenths)) - 1_700_000_000 * S;
        let near = |ns: i64, ms: i64| (ns - ms * 1_000_000).abs() < 10_000;
        assert!(near(since(1), 100) && near(since(2), 200));
        // The step came between the readings at 0.2 s and 0.3 s.
        assert!(near(since(3), 700));
        assert!(near(since(9), 900));
        assert!(near(since(100), 10_000 + 3_600_000));
    }

    #[test]
    fn a_slow_reading_a_drift_and_a_suspend_are_no_steps() {
        let mut clock = WallClock::default();
        clock.read(reading(1, 0));
        // Preempted for 80 ms in the middle of it.
        let slow = Reading {
            after: s(3) + Nanos::from_ms(80),
            wall_ns: reading(3, 0).wall_ns + 79_000_000,
            ..reading(3, 0)
        };
        assert_eq!(clock.read(slow), None);
        // A minute in which the clocks drifted apart by 40 ms.
        assert_eq!(clock.read(reading(603, 40_000_000)), None);
        // Eight hours of sleep.
        let slept = Nanos::from_secs(8 * 3_600);
        let woken = Reading {
            suspended: Some(slept),
            ..reading(604, 40_000_000 + signed(slept))
        };
        assert_eq!(clock.read(woken), None);
        assert!(clock.date_ns(s(605)) > 1_700_000_000 * S + signed(slept));
        assert_eq!(
            clock
                .read(Reading {
                    suspended: Some(slept),
                    ..reading(605, 0)
                })
                .map(|step| step.by_ns < -28_000 * S),
            Some(true)
        );
    }

    #[test]
    fn steps_that_cancel_each_other_are_told_by_the_system() {
        let mut clock = WallClock::default();
        let told = |tenths, suspended| Reading {
            suspended: Some(suspended),
            was_set: true,
            ..reading(tenths, signed(suspended))
        };
        let none = Nanos::ZERO;
        // Steps before the first reading are not counted.
        assert_eq!(clock.read(told(1, none)), None);
        let step = clock.read(told(2, none)).unwrap();
        assert!(step.by_ns.unsigned_abs() < ClockStep::LEAST_NS);
        assert_eq!(clock.read(reading(3, 0)), None);
        // A resume.
        assert_eq!(clock.read(told(4, Nanos::from_secs(60))), None);
        assert_eq!(clock.steps(), [step]);
    }

    #[test]
    fn nonsense_is_a_step_and_no_panic() {
        let mut clock = WallClock::default();
        clock.read(Reading {
            wall_ns: i64::MAX,
            ..reading(1, 0)
        });
        assert!(
            clock
                .read(Reading {
                    wall_ns: i64::MIN,
                    ..reading(2, 0)
                })
                .is_some()
        );
        assert!(
            clock
                .read(Reading {
                    wall_ns: i64::MAX,
                    ..reading(1, 0)
                })
                .is_some()
        );
        clock.date_ns(Nanos::new(u64::MAX));
        assert_eq!(WallClock::default().date_ns(Nanos::new(7)), 7);
    }
}
