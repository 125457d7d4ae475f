use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How much sooner to ask for a wake-up than it is wanted: what 10 of 11 are late by
/// at most, as lateness weighs ten times what the CPU time of waiting for it does.
///
/// Each wake-up moves it by a step, ten times as far up as down, so that it settles
/// where one of eleven is later. Steps are a part of what it is: it is never far from
/// any value, and one bad wake-up, however late, is one step.
#[derive(Debug)]
pub(crate) struct Lead(AtomicU64);

const LATE_OF_TEN: u64 = 10;
/// The step up: a quarter of it, and at least this.
const LEAST_STEP_NS: u64 = 2_000;
const MOST_NS: u64 = 5_000_000;

impl Lead {
    /// Begins with a guess that errs towards CPU time on most machines.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(100_000))
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }

    /// A wake-up came so much later than it was asked for. Of two at the same time
    /// one may go unheard.
    pub(crate) fn learn(&self, late: Duration) {
        let lead = self.0.load(Relaxed);
        let step = (lead / 4).max(LEAST_STEP_NS);
        let next = if late > Duration::from_nanos(lead) {
            (lead + step).min(MOST_NS)
        } else {
            lead.saturating_sub(step / LATE_OF_TEN)
        };
        self.0.store(next, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_settles_above_most_and_comes_back_from_anything() {
        let lead = Lead::new();
        let us = Duration::from_micros;
        for stall in [0, 100] {
            for _ in 0..stall {
                lead.learn(us(50_000));
            }
            // Evenly from 40 us to 140 us, in an order of no period.
            let mut above = 0;
            for n in 0..2_000 {
                let late = us(40 + n * 61 % 101);
                above += u32::from(n >= 1_000 && late > lead.get());
                lead.learn(late);
            }
            assert!((50..150).contains(&above), "{above} of 1000");
            assert!((us(110)..us(170)).contains(&lead.get()), "{lead:?}");
        }
    }
}
