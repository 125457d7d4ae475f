//! How much a counter counted around a hiccup.

use std::collections::VecDeque;

use punctual_core::Nanos;

use super::cause::Stolen;

/// How long after it happened stolen time is in the counter for certain: Linux
/// adds it at ticks, 10 ms apart at the most, and shows it in steps of 10 ms.
pub(super) const SETTLES: Nanos = Nanos::from_ms(20);

/// Readings of a counter of time, the oldest first. Times are counted from
/// the beginning of the watch.
#[derive(Debug, Default)]
pub(super) struct Readings {
    all: VecDeque<(Nanos, Nanos)>,
    first: Option<Nanos>,
}

impl Readings {
    /// At `at`, so much had been stolen since boot.
    pub(super) fn add(&mut self, at: Nanos, stolen: Nanos) {
        self.first.get_or_insert(stolen);
        self.all.push_back((at, stolen));
    }

    /// When the counter was read last; `None` where there is none.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.all.back().map(|(at, _)| *at)
    }

    /// What was stolen in all.
    pub(super) fn total(&self) -> Option<Nanos> {
        Some(self.all.back()?.1 - self.first?)
    }

    /// What was counted around the time from `due` to `woke`: from the last
    /// reading before it to the first after which nothing of it can be missing,
    /// or to the last one there is. `None` if nothing was read before it.
    pub(super) fn around(&self, due: Nanos, woke: Nanos) -> Option<Stolen> {
        let before = self.all.iter().rev().find(|(at, _)| *at <= due)?;
        let after = self.all.iter().find(|(at, _)| *at >= woke + SETTLES);
        let after = after.or(self.all.back())?;
        Some(Stolen {
            counted: after.1 - before.1,
            within: after.0 - before.0,
        })
    }

    /// Forgets what no hiccup can need that was due at `due` or later.
    pub(super) fn forget_before(&mut self, due: Nanos) {
        while self.all.get(1).is_some_and(|(at, _)| *at <= due) {
            self.all.pop_front();
        }
    }
}

#[cfg(test)]
impl Readings {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Nanos {
        Nanos::from_ms(ms)
    }

    fn readings() -> Readings {
        let mut readings = Readings::default();
        for (at, stolen) in [(0, 70), (100, 70), (200, 80), (300, 90)] {
            readings.add(ms(at), ms(stolen));
        }
        readings
    }

    #[test]
    fn stolen_time_is_that_between_the_nearest_readings() {
        for (due, woke, counted, within) in [
            (120, 130, 10, 100),
            (120, 185, 20, 200),
            (99, 101, 10, 200),
            // No reading is late enough yet.
            (290, 299, 10, 100),
        ] {
            let stolen = readings().around(ms(due), ms(woke)).unwrap();
            let seen = (stolen.counted, stolen.within);
            assert_eq!(seen, (ms(counted), ms(within)), "{due}..{woke}");
        }
        let mut late = Readings::default();
        assert_eq!(late.around(ms(1), ms(2)), None);
        late.add(ms(2), ms(70));
        assert_eq!(late.around(ms(1), ms(2)), None);
    }

    #[test]
    fn what_is_forgotten_changes_nothing_that_comes() {
        let mut readings = readings();
        let before = readings.around(ms(210), ms(230));
        readings.forget_before(ms(210));
        assert_eq!(readings.around(ms(210), ms(230)), before);
        assert_eq!(readings.len(), 2);
        assert_eq!(
            (readings.last(), readings.total()),
            (Some(ms(300)), Some(ms(20)))
        );
    }
}
