//! Ticks at regular intervals.

use crate::Time;

/// Ticks at `anchor`, and every `period` after it and before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// One of the ticks.
    pub anchor: Time,
    /// From one tick to the next; not zero.
    pub period: Time,
}

impl Grid {
    /// The last tick at `now` or before.
    pub fn at_or_before(self, now: Time) -> Time {
        if now >= self.anchor {
            let since = now - self.anchor;
            now - since.rem(self.period)
        } else {
            let before = self.anchor - now;
            let rest = before.rem(self.period);
            if rest == Time::ZERO {
                now
            } else {
                // Before the beginning of time there is no tick.
                now - (self.period - rest)
            }
        }
    }

    /// The first tick after `now`.
    pub fn after(self, now: Time) -> Time {
        self.at_or_before(now) + self.period
    }

    /// The first tick at `now` or after.
    pub fn at_or_after(self, now: Time) -> Time {
        let before = self.at_or_before(now);
        if before == now {
            now
        } else {
            before + self.period
        }
    }

    /// How many ticks there are after `from`, up to and including `to`.
    pub fn count(self, from: Time, to: Time) -> u64 {
        if to <= from {
            return 0;
        }
        (self.at_or_before(to) - self.at_or_before(from)).div(self.period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid {
        anchor: Time::from_thirds(17),
        period: Time::from_thirds(5),
    };

    #[test]
    fn ticks_lie_on_both_sides_of_the_anchor() {
        // 2, 7, 12, 17, 22, ...
        let at = Time::from_thirds;
        for (now, before, after, at_or_after) in [
            (2, 2, 7, 2),
            (3, 2, 7, 7),
            (16, 12, 17, 17),
            (17, 17, 22, 17),
            (18, 17, 22, 22),
            (26, 22, 27, 27),
        ] {
            assert_eq!(GRID.at_or_before(at(now)), at(before), "{now}");
            assert_eq!(GRID.after(at(now)), at(after), "{now}");
            assert_eq!(GRID.at_or_after(at(now)), at(at_or_after), "{now}");
        }
    }

    #[test]
    fn ticks_are_counted_after_the_beginning_and_with_the_end() {
        let count = |from, to| GRID.count(Time::from_thirds(from), Time::from_thirds(to));
        assert_eq!(count(2, 7), 1);
        assert_eq!(count(2, 6), 0);
        assert_eq!(count(3, 26), 4);
        assert_eq!(count(9, 3), 0);
    }
}
