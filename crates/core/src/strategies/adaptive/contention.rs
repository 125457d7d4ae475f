//! Whether others want the CPU, told by how spins and naps end.

use super::LATE_MAX_NS;
use super::budget::SPIN_MAX;
use crate::time::Nanos;

/// A spin that ends this late was preempted.
const PREEMPTED_NS: f32 = 50e3;
/// A preempted spin or a nap that was queued adds 12, any other takes one off. Above 24 the CPU
/// counts as contended. That takes three in a dozen waits, where one stall of the host does not
/// count, and lasts until two dozen waits went undisturbed.
const PREEMPTED: u8 = 12;
const CONTENDED: u8 = 24;
const SCORE_MAX: u8 = 48;
/// The price of spinning remembers about this many waits, and begins with the belief
/// that this much spinning ended on time.
const MEMORY: f32 = 256.0;
const BELIEVED_NS: f32 = 20e6;
/// A thread that has used up a quota of CPU time is stopped for longer than this, again and again.
/// Stops of the host are rarer, so the second within this many waits is taken for a quota's. That
/// holds for a while. The while is longer, and the end of the quota is noticed later, the more
/// waits are made in the quota.
const STOPPED_NS: f32 = 20e6;
const STOPS_WITHIN: u16 = 512;
const STOPPED_FOR: u16 = 160;

/// A disturbed wait under contention halves the most that a wait may spin, and an undisturbed one
/// raises it by this factor. Threads on the same CPUs thus spin less until few waits are
/// disturbed, as senders slow down on a congested network. Queued naps count only for this many
/// waits after a spin was preempted: where the system ends naps late by itself, spinning is right.
/// The first time the limit is half of the wait's spin, or half of this.
const RAISE: f32 = 1.0 + 1.0 / 128.0;
const HALVED_FROM_NS: f32 = 100e3;
const AFTER_SPIN: u8 = 64;
const SPIN_LEAST_NS: f32 = 2e3;
const SPIN_MAX_NS: f32 = SPIN_MAX.as_ns() as f32;

/// How late spins ended, and naps that were queued.
///
/// Spinning uses up the CPU time that a fair scheduler grants the thread. On a
/// contended CPU spins therefore end late, by the slices of other threads, and so do
/// the naps after them; where the scheduler protects who runs, only the naps do. A
/// margin that covered this would spin more still: the spin trap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contention {
    spun_ns: f32,
    late_ns: f32,
    score: u8,
    /// The most that a wait may spin.
    spin_most_ns: f32,
    /// Whether that is less than the most there is, or a queued nap may lower it.
    is_limited: bool,
    /// For how many waits a queued nap lowers that too.
    after_spin: u8,
    /// Whether a wait was disturbed, until it is read.
    pub(super) is_news: bool,
    /// Waits since the thread was stopped, and whether that was not the first time.
    since_stop: u16,
    is_again: bool,
}

impl Contention {
    pub(super) const NONE: Self = Self {
        spun_ns: 0.0,
        late_ns: 0.0,
        score: 0,
        spin_most_ns: SPIN_MAX_NS,
        is_limited: false,
        after_spin: 0,
        is_news: false,
        since_stop: u16::MAX,
        is_again: false,
    };

    pub(super) fn is_present(&self) -> bool {
        self.score > CONTENDED
    }

    /// Whether waits were disturbed not long ago. Margins are chosen at the price of
    /// spinning as long as that is so.
    pub(super) fn is_suspected(&self) -> bool {
        self.score > 0
    }

    /// Whether a quota of CPU time is used up again and again.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_again && self.since_stop < STOPPED_FOR
    }

    /// The most that a wait may spin.
    #[inline]
    pub(super) fn spin_most(&self) -> Nanos {
        match self.is_limited {
            true => Nanos::new((self.spin_most_ns as u32).into()),
            false => SPIN_MAX,
        }
    }

    /// Learns from a wait that ended with a spin of `spun_ns`, `late_ns` late. One that shared its
    /// CPU disturbed no thread.
    #[inline]
    pub(super) fn learn(&mut self, spun_ns: f32, late_ns: f32, has_shared: bool) {
        self.spun_ns += spun_ns - self.spun_ns / MEMORY;
        self.late_ns += late_ns.min(LATE_MAX_NS) - self.late_ns / MEMORY;
        if late_ns > PREEMPTED_NS {
            self.preempted(late_ns);
            if !has_shared {
                (self.after_spin, self.is_limited) = (AFTER_SPIN, true);
                self.spin_less(spun_ns);
            }
        } else {
            self.learn_none();
        }
    }

    /// Learns from a wait that did not spin.
    #[inline]
    pub(super) fn learn_none(&mut self) {
        self.score = self.score.saturating_sub(1);
        self.since_stop = self.since_stop.saturating_add(1);
        if self.is_limited {
            self.spin_more();
        }
    }

    /// Learns from a nap that waited in the run queue, so that the wait ended `late_ns`
    /// late.
    #[cold]
    pub(super) fn learn_queued(&mut self, late_ns: f32) {
        self.late_ns += late_ns.min(LATE_MAX_NS);
        self.preempted(late_ns);
        if self.after_spin > 0 {
            self.spin_less(0.0);
        }
    }

    #[cold]
    fn spin_more(&mut self) {
        self.after_spin = self.after_spin.saturating_sub(1);
        self.spin_most_ns = (self.spin_most_ns * RAISE).min(SPIN_MAX_NS);
        self.is_limited = self.after_spin > 0 || self.spin_most_ns < SPIN_MAX_NS;
    }

    /// Halves the most that a wait may spin, after one that spun for `spun_ns`.
    #[cold]
    fn spin_less(&mut self, spun_ns: f32) {
        if self.is_present() {
            let most = self.spin_most_ns.min(spun_ns.max(HALVED_FROM_NS));
            self.spin_most_ns = (most / 2.0).max(SPIN_LEAST_NS);
        }
    }

    /// Learns from a wait that others made late.
    #[cold]
    fn preempted(&mut self, late_ns: f32) {
        self.score = (self.score + PREEMPTED).min(SCORE_MAX);
        self.is_news = true;
        if late_ns > STOPPED_NS {
            self.is_again = self.since_stop < STOPS_WITHIN;
            self.since_stop = 0;
        }
    }

    /// The cost of a nanosecond of spinning: itself, and the lateness it brings.
    pub(super) fn spin_price(&self, late_weight: f32) -> f32 {
        1.0 + late_weight * self.late_ns / (self.spun_ns + BELIEVED_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_preempted_spins_in_a_dozen_waits_are_contention_until_two_dozen_were_not() {
        let mut contention = Contention::NONE;
        for _ in 0..100 {
            // A stall now and then is none.
            contention.learn(30e3, 5e6, false);
            (0..12).for_each(|_| contention.learn(30e3, 0.0, false));
            assert!(!contention.is_present());
        }
        (0..3).for_each(|_| contention.learn(30e3, 1e6, false));
        assert!(contention.is_present());
        (0..100).for_each(|_| contention.learn(30e3, 1e6, false));
        (0..24).for_each(|_| contention.learn(30e3, 0.0, false));
        assert!(!contention.is_present());
    }

    #[test]
    fn naps_in_the_run_queue_are_contention_too() {
        let mut contention = Contention::NONE;
        for _ in 0..3 {
            contention.learn_queued(1e6);
            contention.learn(30e3, 0.0, false);
        }
        assert!(contention.is_present());
        assert!(contention.spin_price(10.0) > 2.0);
        (0..48).for_each(|_| contention.learn_none());
        assert!(!contention.is_present());
    }

    #[test]
    fn stops_that_come_again_soon_are_a_quotas_until_they_stay_away() {
        let mut contention = Contention::NONE;
        let mut stop_after = |waits| {
            (0..waits).for_each(|_| contention.learn(30e3, 0.0, false));
            contention.learn(30e3, 40e6, false);
            contention
        };
        // As of the host, and each tenth of a second.
        assert!((0..5).all(|_| !stop_after(600).is_stopped()));
        assert!((0..5).all(|_| stop_after(80).is_stopped()));
        (0..STOPPED_FOR).for_each(|_| contention.learn_none());
        assert!(!contention.is_stopped());
    }

    #[test]
    fn the_price_of_spinning_includes_the_lateness_it_brings() {
        let mut contention = Contention::NONE;
        assert_eq!(contention.spin_price(100.0), 1.0);
        // One in ten is late by ten times what it spun.
        for i in 0..10_000 {
            contention.learn(100e3, if i % 10 == 0 { 1e6 } else { 0.0 }, false);
        }
        let believed = BELIEVED_NS / (MEMORY * 100e3);
        let expected = 1.0 + 10.0 / (1.0 + believed);
        assert!((contention.spin_price(10.0) / expected - 1.0).abs() < 0.1);
    }

    #[test]
    fn who_is_preempted_while_spinning_spins_less_until_few_are() {
        let mut contention = Contention::NONE;
        let mut wait = |late_ns, has_shared| {
            contention.learn(60e3, late_ns, has_shared);
            contention.spin_most()
        };
        // A spin that yielded was not preempted, and a single preemption is no contention.
        assert!((0..50).all(|_| wait(1e6, true) == SPIN_MAX));
        assert!((0..100).all(|_| wait(0.0, false) == SPIN_MAX));
        assert_eq!(wait(1e6, false), SPIN_MAX);
        (0..8).for_each(|_| {
            wait(1e6, false);
        });
        assert_eq!(wait(1e6, false).as_ns(), SPIN_LEAST_NS as u64);
        let waits = (1..).find(|_| wait(0.0, false) >= Nanos::from_us(60));
        assert!((300..600).contains(&waits.unwrap()), "{waits:?}");
        (0..2_000).for_each(|_| {
            wait(0.0, false);
        });
        assert_eq!(wait(0.0, false), SPIN_MAX);
    }

    #[test]
    fn where_only_naps_are_late_spins_have_no_limit() {
        let mut contention = Contention::NONE;
        for _ in 0..100 {
            contention.learn_queued(1e6);
            contention.learn_none();
        }
        assert!(contention.is_present());
        assert_eq!(contention.spin_most(), SPIN_MAX);
        // Where spins are preempted too, another thread has the CPU.
        contention.learn(60e3, 1e6, false);
        contention.learn_queued(1e6);
        assert!(contention.spin_most() <= Nanos::from_us(25));
    }
}
