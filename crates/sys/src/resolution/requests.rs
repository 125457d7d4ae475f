//! The requests of one process, and which of them the system is told.

use punctual_core::Nanos;
use std::collections::BTreeMap;

/// How the system is told: both count the same interval, but by different
/// calls, and each is withdrawn by its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `timeBeginPeriod` with so many milliseconds; calls are counted.
    Begin(u32),
    /// `NtSetTimerResolution` with so many units of 100 ns; a new value takes
    /// the place of the old one.
    Set(u32),
}

impl Call {
    /// The call for an interval: whole milliseconds, or else units, cut down.
    pub(super) fn of(interval: Nanos) -> Self {
        let units = u32::try_from(interval.as_ns() / NS_PER_UNIT).unwrap_or(u32::MAX);
        match units % UNITS_PER_MS {
            0 => Self::Begin(units / UNITS_PER_MS),
            _ => Self::Set(units),
        }
    }
}

/// What a process asks for, each interval with how often.
#[derive(Debug, Default)]
pub(super) struct Requests(BTreeMap<Nanos, u32>);

impl Requests {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn add(&mut self, interval: Nanos) {
        *self.0.entry(interval).or_default() += 1;
    }

    /// Whether it had been asked for.
    pub(super) fn remove(&mut self, interval: Nanos) -> bool {
        let Some(count) = self.0.get_mut(&interval) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.0.remove(&interval);
        }
        true
    }

    /// The one that counts.
    pub(super) fn finest(&self) -> Option<Call> {
        self.0.keys().next().copied().map(Call::of)
    }
}

/// Windows counts in units of 100 ns.
pub(super) const NS_PER_UNIT: u64 = 100;

const UNITS_PER_MS: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_finest_counts_and_the_next_takes_over() {
        let ms = Nanos::from_ms;
        let mut requests = Requests::new();
        assert_eq!(requests.finest(), None);
        requests.add(ms(5));
        requests.add(ms(1));
        requests.add(ms(1));
        assert_eq!(requests.finest(), Some(Call::Begin(1)));
        assert!(requests.remove(ms(1)));
        assert_eq!(requests.finest(), Some(Call::Begin(1)));
        requests.add(Nanos::from_us(500));
        assert_eq!(requests.finest(), Some(Call::Set(5_000)));
        assert!(requests.remove(Nanos::from_us(500)) && requests.remove(ms(1)));
        assert_eq!(requests.finest(), Some(Call::Begin(5)));
        assert!(!requests.remove(ms(1)));
        assert!(requests.remove(ms(5)));
        assert_eq!(requests.finest(), None);
    }

    #[test]
    fn whole_milliseconds_are_begun_and_all_others_set() {
        assert_eq!(Call::of(Nanos::from_ms(15)), Call::Begin(15));
        assert_eq!(Call::of(Nanos::from_us(1_500)), Call::Set(15_000));
        assert_eq!(Call::of(Nanos::new(500_099)), Call::Set(5_000));
    }
}
