use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How much sooner than wanted to ask for a wake-up. It covers the lateness of 10 of 11, because
/// lateness weighs ten times the CPU time of waiting for it.
///
/// Each wake-up moves it by a step, ten times as far up as down, so that it settles
/// where one of eleven is later. Steps are a part of what it is: it is never far from
/// any value.
#[derive(Debug)]
pub(crate) struct Lead(AtomicU64);

const LATE_OF_TEN: u64 = 10;
/// The step up: a quarter of it, and at least this.
const LEAST_STEP_NS: u64 = 2_000;
/// More than that is a stall, or a CPU that others have. No lead helps against it, and a long one
/// would only take scarce CPU time.
const STALL_NS: u64 = 1_000_000;
/// How long is spun for one step up, down again by doubt.
const DOUBT_NS: u64 = 100_000_000;

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
        if late > Duration::from_nanos(STALL_NS) {
            return;
        }
        let next = if late > Duration::from_nanos(lead) {
            (lead + step(lead)).min(STALL_NS)
        } else {
            lead.saturating_sub(step(lead) / LATE_OF_TEN)
        };
        self.0.store(next, Relaxed);
    }

    /// No wake-up was requested, because the lead was too long, and so much is spun instead. The
    /// lead then shrinks a little, so that a wake-up is tried again some time, however long the
    /// lead has become. Spun time counts, not the number: many short sleeps know nothing of
    /// wake-ups.
    pub(crate) fn doubt(&self, spun: Duration) {
        let lead = self.0.load(Relaxed);
        let spun_ns = (spun.as_nanos() as u64).min(lead);
        let less = step(lead) * spun_ns / DOUBT_NS;
        self.0.store(lead.saturating_sub(less), Relaxed);
    }
}

fn step(lead_ns: u64) -> u64 {
    (lead_ns / 4).max(LEAST_STEP_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_settles_above_most_and_comes_back_from_anything() {
        let lead = Lead::new();
        let us = Duration::from_micros;
        for before in [us(100), us(1_000), us(50_000)] {
            for _ in 0..100 {
                lead.learn(before);
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

    #[test]
    fn none_is_too_long_to_be_tried_again() {
        let lead = Lead::new();
        for _ in 0..50 {
            lead.learn(Duration::from_micros(900));
        }
        assert!(lead.get() > Duration::from_micros(700));
        while lead.get() > Duration::from_micros(300) {
            let before = lead.get();
            lead.doubt(Duration::from_micros(300));
            assert!(lead.get() < before);
        }
    }

    /// 50 ms of 1 us each.
    #[test]
    fn many_short_sleeps_take_little_of_it() {
        let lead = Lead::new();
        let before = lead.get();
        for _ in 0..50_000 {
            lead.doubt(Duration::from_micros(1));
        }
        assert!(lead.get() > before * 3 / 4, "{lead:?}");
    }
}
