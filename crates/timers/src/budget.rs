//! The spinning that all async sleeps of a process share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A token bucket of spinning time, without a clock. Its rate falls with the number of pending
/// timers: unlimited up to 8, and 5 % of a CPU from 90 on. In between it is in inverse proportion
/// to the number beyond 8.
///
/// Credit is kept as time that has passed, not as spinning time. A spin costs the time
/// in which the present rate refills it. Thus a change of the rate needs no bookkeeping.
#[derive(Debug)]
pub(crate) struct SpinBudget {
    /// The sum of the weights of pending timers.
    pending: AtomicU64,
    /// All credit before this time is spent, in ns.
    spent_until_ns: AtomicU64,
}

/// The weight of one timer.
const ONE: u64 = 1_000;
/// Up to so many timers there is no limit.
const FEW: u64 = 8 * ONE;
/// From here on the rate is constant. A tenth of 100 tasks may be between two sleeps.
const MANY: u64 = 90 * ONE;
/// The rate for many timers, in thousandths of a CPU. With all credit spent at once it
/// makes 4.998 % in the worst second.
const RATE: u64 = 49;
/// The most credit that is saved: ten spins of 100 us at the rate for many.
const CREDIT_NS: u64 = 20_000_000;
/// A longer timer weighs in proportion less, because it spins less often. A spin of
/// 100 us each 200 ms is a hundredth of 5 % of a CPU: 100 such timers need no limit.
const FULL_LENGTH_NS: u64 = 200_000_000;
/// The longest rest. 1,000 tasks that slept for 10 ms took 0.49, 0.46, 0.31 and 0.33 CPUs
/// with rests of 0, 50, 100 and 200 us, and were 628, 88, 128 and 155 us late in the
/// median. 100 tasks were 25, 26, 38 and 82 us late (`many_sleeps` in microbench, beside
/// builds on 2 CPUs, medians of 4 rounds).
const REST_NS: u64 = 100_000;

impl SpinBudget {
    pub(crate) const fn new() -> Self {
        Self {
            pending: AtomicU64::new(0),
            spent_until_ns: AtomicU64::new(0),
        }
    }

    /// A timer begins that is due in `length_ns`. Returns its weight, for
    /// [`leave`](Self::leave).
    pub(crate) fn join(&self, length_ns: u64) -> u64 {
        let weight = ONE * FULL_LENGTH_NS / length_ns.max(FULL_LENGTH_NS);
        self.pending.fetch_add(weight, Relaxed);
        weight
    }

    /// A timer of this weight ends.
    pub(crate) fn leave(&self, weight: u64) {
        // A child process may have forgotten it before.
        let less = |pending: u64| Some(pending.saturating_sub(weight));
        let _ = self.pending.fetch_update(Relaxed, Relaxed, less);
    }

    /// Forgets all pending timers.
    pub(crate) fn forget(&self) {
        self.pending.store(0, Relaxed);
    }

    /// Returns the part of `lead_ns` by which to wake up ahead of a deadline: all of it
    /// with full credit, nothing without credit.
    pub(crate) fn lead(&self, now_ns: u64, lead_ns: u64) -> u64 {
        if !self.is_limited() {
            return lead_ns;
        }
        let spent_until = self.spent_until_ns.load(Relaxed);
        let credit = now_ns.saturating_sub(spent_until).min(CREDIT_NS);
        lead_ns.min(CREDIT_NS) * credit / CREDIT_NS
    }

    /// Returns how long the thread of the sleeps rests between wake-ups, in ns: not at all
    /// for few timers, [`REST_NS`] for many.
    pub(crate) fn rest(&self) -> u64 {
        REST_NS * self.beyond_few() / (MANY - FEW)
    }

    /// Whether there are more than few timers.
    pub(crate) fn is_limited(&self) -> bool {
        self.beyond_few() > 0
    }

    /// By how much the pending timers are more than few, up to many.
    fn beyond_few(&self) -> u64 {
        let pending = self.pending.load(Relaxed).min(MANY);
        pending.saturating_sub(FEW)
    }

    /// Takes `spin_ns` of spinning, all or nothing. Returns whether there was enough.
    pub(crate) fn take(&self, now_ns: u64, spin_ns: u64) -> bool {
        let beyond = self.beyond_few();
        if beyond == 0 {
            return true;
        }
        let cost = spin_ns.saturating_mul(beyond) / ((MANY - FEW) * RATE / 1_000);
        let oldest = now_ns.saturating_sub(CREDIT_NS);
        let spend = |until: u64| {
            let until = until.max(oldest).saturating_add(cost);
            (until <= now_ns).then_some(until)
        };
        let taken = self.spent_until_ns.fetch_update(Relaxed, Relaxed, spend);
        taken.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;
    const SPIN: u64 = 100_000;

    fn with(sleeps: u64) -> SpinBudget {
        let budget = SpinBudget::new();
        for _ in 0..sleeps {
            assert_eq!(budget.join(10 * MS), ONE);
        }
        budget
    }

    /// The time granted from `begin` to `end` if a spin of `spin` is requested every `gap`.
    fn granted(budget: &SpinBudget, begin: u64, end: u64, gap: u64, spin: u64) -> u64 {
        let asks = (begin..end).step_by(gap as usize);
        asks.map(|now| spin * u64::from(budget.take(now, spin)))
            .sum()
    }

    #[test]
    fn few_sleeps_are_not_limited() {
        for sleeps in 0..=8 {
            let budget = with(sleeps);
            for _ in 0..1_000 {
                assert!(budget.take(0, SPIN));
                assert_eq!(budget.lead(0, SPIN), SPIN);
            }
        }
    }

    #[test]
    fn many_sleeps_never_spin_above_5_percent_in_any_second() {
        for sleeps in [90, 100, 1_000, 10_000] {
            for (gap, spin) in [(10_000, SPIN), (1_000, 3_000), (5 * MS, 240_000)] {
                let budget = with(sleeps);
                let asks = (SECOND..4 * SECOND).step_by(gap as usize);
                let spins: Vec<u64> = asks.filter(|&now| budget.take(now, spin)).collect();
                assert!(!spins.is_empty());
                for (first, &begin) in spins.iter().enumerate() {
                    let end = spins.partition_point(|&now| now < begin + SECOND);
                    let spun = (end - first) as u64 * spin;
                    assert!(spun <= SECOND / 20, "{spun} ns by {sleeps}");
                }
            }
        }
    }

    #[test]
    fn the_rate_is_used_up() {
        let budget = with(100);
        let spun = granted(&budget, SECOND, 2 * SECOND, 10_000, SPIN);
        assert!(spun > SECOND / 21, "{spun} ns");
    }

    #[test]
    fn it_falls_smoothly_from_8_to_90() {
        let rate = |sleeps| {
            let budget = with(sleeps);
            granted(&budget, SECOND, 2 * SECOND, 1_000, 10_000)
        };
        // Asked for ten times what one CPU has.
        let rates: Vec<u64> = (8..=91).map(rate).collect();
        assert_eq!(rates[0], 10 * SECOND);
        for pair in rates.windows(2) {
            assert!(pair[1] <= pair[0], "{rates:?}");
        }
        // One sleep more never takes more than half, and from 40 on at most 4 %.
        for (pair, sleeps) in rates[1..].windows(2).zip(9..) {
            assert!(pair[1] >= pair[0] / 100 * 49, "{pair:?} after {sleeps}");
            assert!(
                sleeps < 40 || pair[1] >= pair[0] / 100 * 96,
                "{pair:?} after {sleeps}"
            );
        }
        assert_eq!(rate(90), rate(100));
    }

    #[test]
    fn a_rest_refills_it_up_to_its_capacity() {
        let budget = with(100);
        let burst = |at| granted(&budget, at, at + 1_000, 1, 10_000);
        let first = burst(SECOND);
        assert_eq!(burst(SECOND + 2_000), 0);
        let half = burst(SECOND + CREDIT_NS / 2);
        assert!((first / 2).abs_diff(half) <= 10_000, "{half} of {first}");
        assert_eq!(burst(2 * SECOND), first);
        assert_eq!(burst(100 * SECOND), first);
        assert_eq!(first, 980_000);
    }

    #[test]
    fn the_lead_shrinks_with_the_credit() {
        let budget = with(100);
        assert_eq!(budget.lead(SECOND, SPIN), SPIN);
        let mut before = SPIN;
        while budget.take(SECOND, 50_000) {
            let lead = budget.lead(SECOND, SPIN);
            assert!(lead < before);
            before = lead;
        }
        assert!(before < SPIN / 10);
        assert!(budget.lead(SECOND + 5 * MS, SPIN) > before);
    }

    #[test]
    fn the_rest_grows_with_the_number() {
        let rests: Vec<u64> = (0..=100).map(|sleeps| with(sleeps).rest()).collect();
        assert_eq!((rests[8], rests[90], rests[100]), (0, REST_NS, REST_NS));
        assert!(rests.is_sorted());
        assert!(rests.windows(2).all(|pair| pair[1] - pair[0] <= 1_300));
    }

    #[test]
    fn sleeps_leave() {
        let budget = with(8);
        let weights: Vec<u64> = (0..1_000).map(|_| budget.join(MS)).collect();
        assert!(!budget.take(0, SPIN));
        for weight in weights {
            budget.leave(weight);
        }
        assert!(budget.take(0, SPIN));
        budget.forget();
        budget.leave(ONE);
        assert_eq!(budget.pending.load(Relaxed), 0);
    }

    #[test]
    fn long_timers_weigh_little() {
        let budget = SpinBudget::new();
        assert_eq!(budget.join(0), ONE);
        assert_eq!(budget.join(200 * MS), ONE);
        assert_eq!(budget.join(400 * MS), ONE / 2);
        assert_eq!(budget.join(3_600 * SECOND), 0);
        assert_eq!(budget.join(u64::MAX), 0);
    }

    #[test]
    fn no_number_is_too_large() {
        let budget = with(100);
        assert!(!budget.take(u64::MAX / 2, u64::MAX));
        assert_eq!(budget.lead(u64::MAX, u64::MAX), CREDIT_NS);
        assert!(budget.take(u64::MAX, 1));
    }
}
