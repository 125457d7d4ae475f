//! Deadlines at an exact rate.

use punctual_core::{Clock, Rate, Tick};

/// The cycles of a rate on one clock: deadline `k` is `origin + k / rate`,
/// exact for ever. Nothing is based on when anybody woke, so lateness never
/// adds up.
#[derive(Clone, Copy, Debug)]
pub struct Cycles<C> {
    origin: Tick<C>,
    rate: Rate,
    cycle: u64,
}

impl<C: Clock> Cycles<C> {
    /// Cycles at `rate`; cycle 0 begins at `origin`.
    pub fn starting_at(origin: Tick<C>, rate: Rate) -> Self {
        Self {
            origin,
            rate,
            cycle: 0,
        }
    }

    /// The beginning of the next cycle, and how many cycles before it were
    /// skipped because they had begun by `now`.
    pub fn next(&mut self, now: Tick<C>) -> (Tick<C>, u64) {
        let due = self.cycle.saturating_add(1);
        let elapsed = now.since(self.origin);
        self.cycle = if self.rate.offset(due) > elapsed {
            due
        } else {
            self.rate.cycle_after(elapsed)
        };
        (self.origin + self.rate.offset(self.cycle), self.cycle - due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Fake;
    impl Clock for Fake {}

    #[test]
    fn missed_cycles_are_skipped_and_counted() {
        let at = |ms: u64| Tick::<Fake>::from_ns(ms * 1_000_000);
        let mut cycles = Cycles::starting_at(at(7), Rate::from_hz(100).unwrap());
        assert_eq!(cycles.next(at(7)), (at(17), 0));
        assert_eq!(cycles.next(at(18)), (at(27), 0));
        assert_eq!(cycles.next(at(49)), (at(57), 2));
        assert_eq!(cycles.next(at(67)), (at(77), 1));
        assert_eq!(cycles.next(at(70)), (at(87), 0));
    }

    #[test]
    fn cycles_of_a_fraction_of_a_nanosecond_do_not_drift() {
        let origin = Tick::<Fake>::from_ns(1_000);
        let mut cycles = Cycles::starting_at(origin, Rate::from_fraction(3, 1).unwrap());
        let mut next = || cycles.next(origin).0.since(origin).as_ns();
        let thirds = [333_333_333, 666_666_666, 1_000_000_000, 1_333_333_333];
        assert_eq!([next(), next(), next(), next()], thirds);
    }

    #[test]
    fn a_clock_that_is_before_the_origin_misses_nothing() {
        let at = |ms: u64| Tick::<Fake>::from_ns(ms * 1_000_000);
        let mut cycles = Cycles::starting_at(at(70), Rate::from_hz(100).unwrap());
        assert_eq!(cycles.next(at(7)), (at(80), 0));
    }
}
