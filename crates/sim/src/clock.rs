//! The clock that simulated threads read.

use punctual_core::{Clock, Nanos, Tick};
use punctual_rules::Time;

/// Marks instants of the simulated clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimClock;

impl Clock for SimClock {}

/// The instant at which the clock shows `tick`.
pub(crate) fn instant(tick: Tick<SimClock>) -> Time {
    Time::from_ns(tick.as_ns())
}

/// A clock with a cost, a step, and stretches in which it stands still.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    /// The time of one reading.
    pub(crate) read: Time,
    /// The clock shows multiples of this.
    pub(crate) step: Nanos,
    /// From when to when the clock stands still, in order.
    pub(crate) frozen: Vec<(Time, Time)>,
}

impl Face {
    /// The value of the clock at `now`.
    pub(crate) fn show(&self, now: Time) -> Tick<SimClock> {
        let now = match self
            .frozen
            .iter()
            .find(|(from, to)| (*from..*to).contains(&now))
        {
            Some((from, _)) => *from,
            None => now,
        };
        let (ns, step) = (now.floor_ns(), self.step.as_ns());
        // A division takes longer than all the rest.
        Tick::from_ns(if step == 1 { ns } else { ns - ns % step })
    }

    /// When a thread that reads the clock over and over from `now` on first
    /// reads `until` or later: the end of that reading.
    pub(crate) fn spin(&self, now: Time, until: Tick<SimClock>) -> Time {
        let step = self.step.as_ns();
        let mut reached = Time::from_ns(until.as_ns().div_ceil(step).saturating_mul(step));
        for (from, to) in &self.frozen {
            if (*from..*to).contains(&reached) && self.show(reached) < until {
                reached = *to;
            }
        }
        let readings = (reached - now)
            .as_thirds()
            .div_ceil(self.read.as_thirds())
            .max(1);
        let mut end = now + self.read.times(readings);
        // The reading that falls due can lie in a stretch in which the clock
        // shows an older time.
        while self.show(end) < until && end < Time::NEVER {
            end = end + self.read;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn face(step: u64) -> Face {
        Face {
            read: Time::from_ns(10),
            step: Nanos::new(step),
            frozen: vec![(Time::from_ns(1_000), Time::from_ns(2_000))],
        }
    }

    #[test]
    fn a_coarse_clock_shows_its_last_step() {
        assert_eq!(face(100).show(Time::from_ns(299)).as_ns(), 200);
        assert_eq!(face(1).show(Time::from_ns(1_500)).as_ns(), 1_000);
        assert_eq!(face(1).show(Time::from_ns(2_000)).as_ns(), 2_000);
    }

    #[test]
    fn a_spin_ends_at_the_first_reading_that_is_late_enough() {
        let end = |step, now, until| {
            face(step)
                .spin(Time::from_ns(now), Tick::from_ns(until))
                .floor_ns()
        };
        assert_eq!(end(1, 0, 95), 100);
        assert_eq!(end(1, 5, 95), 95);
        assert_eq!(end(100, 0, 95), 100);
        assert_eq!(end(100, 0, 101), 200);
        // The clock stands still from 1000 to 2000.
        assert_eq!(end(1, 0, 1_500), 2_000);
        assert_eq!(end(1, 5, 1_500), 2_005);
        assert_eq!(end(1, 0, 1_000), 1_000);
        // A past instant costs one reading.
        assert_eq!(end(1, 50, 20), 60);
    }
}
