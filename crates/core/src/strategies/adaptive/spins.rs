//! What spins brought: whether they ended on time.

use super::LATE_MAX_NS;
use crate::time::Nanos;

/// A spin that ends so late was cut short by somebody: nobody spins for that.
const CUT_NS: f32 = 50e3;
/// What a spin that was cut counts, where one that was not takes one off, and
/// how much makes a contended CPU: three cuts in a dozen waits, where one stall
/// of a host does not count. It is over after two dozen waits without.
const CUT: u8 = 12;
const CONTENDED: u8 = 24;
const MOST: u8 = 48;
/// The part of a wait that may be spun then. Who uses a sixteenth of a CPU is
/// let onto it at once by any fair scheduler, however busy it is.
const PART: u64 = 16;
/// About how many waits are remembered, and what is believed of so much spinning
/// before: that it was on time.
const MEMORY: f32 = 256.0;
const BELIEVED_NS: f32 = 20e6;

/// How late spins were for how long they were.
///
/// A spin uses up what a fair scheduler owes the thread: on a busy CPU it ends
/// late, and the naps after it too, by the others' slices. A margin that covered
/// that would be longer still, and so on: the spin trap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spins {
    spun_ns: f32,
    late_ns: f32,
    cuts: u8,
}

impl Spins {
    pub(super) const NONE: Self = Self {
        spun_ns: 0.0,
        late_ns: 0.0,
        cuts: 0,
    };

    /// Whether others want the CPU.
    pub(super) fn is_contended(&self) -> bool {
        self.cuts > CONTENDED
    }

    /// A wait is over that ended with a spin of so long, and was so late.
    #[inline]
    pub(super) fn learn(&mut self, spun_ns: f32, late_ns: f32) {
        self.spun_ns += spun_ns - self.spun_ns / MEMORY;
        self.late_ns += late_ns.min(LATE_MAX_NS) - self.late_ns / MEMORY;
        self.cuts = if late_ns > CUT_NS {
            (self.cuts + CUT).min(MOST)
        } else {
            self.cuts.saturating_sub(1)
        };
    }

    /// What it costs to spin for a nanosecond: that, and the lateness it brings.
    pub(super) fn price(&self, late_weight: f32) -> f32 {
        1.0 + late_weight * self.late_ns / (self.spun_ns + BELIEVED_NS)
    }

    /// What a wait with so much left may spin on a contended CPU.
    pub(super) fn most(left: Nanos) -> Nanos {
        Nanos::new(left.as_ns() / PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_three_cuts_in_a_dozen_waits_and_is_over_after_two_dozen() {
        let mut spins = Spins::NONE;
        for _ in 0..100 {
            // One stall now and then is none.
            spins.learn(30e3, 5e6);
            (0..12).for_each(|_| spins.learn(30e3, 0.0));
            assert!(!spins.is_contended());
        }
        (0..3).for_each(|_| spins.learn(30e3, 1e6));
        assert!(spins.is_contended());
        (0..100).for_each(|_| spins.learn(30e3, 1e6));
        (0..24).for_each(|_| spins.learn(30e3, 0.0));
        assert!(!spins.is_contended());
    }

    #[test]
    fn what_spins_bring_late_is_their_price() {
        let mut spins = Spins::NONE;
        assert_eq!(spins.price(100.0), 1.0);
        // A tenth of them is late by as long as ten of them last.
        for i in 0..10_000 {
            spins.learn(100e3, if i % 10 == 0 { 1e6 } else { 0.0 });
        }
        let believed = BELIEVED_NS / (MEMORY * 100e3);
        let expected = 1.0 + 10.0 / (1.0 + believed);
        assert!((spins.price(10.0) / expected - 1.0).abs() < 0.1);
    }
}
