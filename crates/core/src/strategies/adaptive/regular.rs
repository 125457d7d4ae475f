//! How naps end where that is regular: on ticks on Windows, late by a share of
//! their length on macOS. Elsewhere this costs nothing.

use crate::estimators::grid::{Grid, Kind};
use crate::method::Ends;
use crate::time::Nanos;

/// xnu lets timers be late by a share of their length that is a power of two: 1/8 to 4, by the
/// tier of the thread (its `timer_coalescing` tunables). An ordinary thread has this one.
const MACOS_SHARE: f32 = 1.0 / 4.0;
const MACOS_MOST: f32 = 4.0;
const MACOS_LEAST: f32 = 1.0 / 32.0;
/// A nap that ends sooner lowers the share by this part of the difference.
const SHARE_FALL: f32 = 1.0 / 64.0;
/// The share is rounded up from this much less, as it is not measured exactly.
const SHARE_NEAR: f32 = 8.0 / 9.0;
/// Shorter naps do not tell the share.
const SHARE_FROM_NS: f32 = 200e3;

/// While ticks are sought, for so many naps, a nap takes half of what is left, so that lengths
/// vary; others follow.
const SOUGHT: u8 = 24;

impl Ends {
    /// The overshoot that is believed before the first nap, beyond a share of the
    /// length. High on purpose: the first waits then spin longer, and end on time.
    pub(super) const fn believed_ns(self) -> f32 {
        match self {
            // A wake-up on a virtual machine, with or without a slack of 50 us.
            Self::AtAnyTime => 110e3,
            Self::OnFineTicks => 600e3,
            Self::OnTicks | Self::OnTicksInMs => 16e6,
            Self::LateByAShare => 30e3,
        }
    }

    /// The unit in which the call counts lengths, which it rounds up, if naps may end on
    /// ticks.
    fn unit(self) -> Option<Nanos> {
        match self {
            Self::AtAnyTime | Self::LateByAShare => None,
            Self::OnTicksInMs => Some(Nanos::from_ms(1)),
            Self::OnTicks | Self::OnFineTicks => Some(Nanos::new(1)),
        }
    }
}

/// The ticks on which naps end, if they do.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ticks {
    unit: Nanos,
    clock: Grid,
    steps: Grid,
    /// Naps without ticks, since ticks were last known.
    sought: u8,
}

impl Ticks {
    /// `None` where there are none.
    pub(super) fn new(ends: Ends) -> Option<Self> {
        Some(Self {
            unit: ends.unit()?,
            clock: Grid::new(Kind::Clock),
            steps: Grid::new(Kind::Steps),
            sought: 0,
        })
    }

    /// The ticks that predict best when naps end, if any do.
    pub(super) fn grid(&self) -> Option<&Grid> {
        [&self.clock, &self.steps]
            .into_iter()
            .filter(|grid| grid.period_ns().is_some())
            .min_by(|a, b| a.off_ns().total_cmp(&b.off_ns()))
    }

    /// Whether ticks are sought.
    pub(super) fn are_sought(&self) -> bool {
        self.sought < SOUGHT && self.grid().is_none()
    }

    /// Whether ticks are sought, or are known.
    pub(super) fn are_sought_or_known(&self) -> bool {
        self.sought < SOUGHT || self.grid().is_some()
    }

    /// The part of a nap by which it is shortened, as naps of one length do not tell ticks.
    pub(super) fn share(&self) -> f32 {
        match self.sought {
            SOUGHT.. => 0.0,
            sought => f32::from(1 + sought % 3),
        }
    }

    /// A length rounded down to what the call can count; `None` if that is nothing.
    pub(super) fn whole(&self, length: Nanos) -> Option<Nanos> {
        let units = length.as_ns() / self.unit.as_ns();
        (units > 0).then(|| self.unit.times(units))
    }

    /// A wait begins with so much left, and the one before it ended so late.
    #[inline]
    pub(super) fn begin(&mut self, left: Nanos, late_ns: f32) {
        self.steps.begin(left.as_ns(), late_ns);
    }

    pub(super) fn learn(&mut self, nap: Nap) {
        let was_known = self.grid().is_some();
        let begin = nap.woke.saturating_sub(nap.slept.as_ns());
        let due = begin.saturating_add(nap.asked.as_ns());
        self.clock.learn(begin, due, nap.woke);
        self.steps.learn(begin, due, nap.woke);
        self.sought = match self.grid() {
            Some(_) => self.sought,
            // They are gone.
            None if was_known => 0,
            None => self.sought.saturating_add(1),
        };
    }
}

/// The share of its length by which a nap is late at most, where that is so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(f32);

impl Share {
    pub(super) const fn new(ends: Ends) -> Self {
        Self(match ends {
            Ends::LateByAShare => MACOS_SHARE,
            _ => 0.0,
        })
    }

    /// The share that naps keep to.
    pub(super) fn at_most(self) -> f32 {
        let mut share = MACOS_LEAST;
        while share < self.0 * SHARE_NEAR {
            share *= 2.0;
        }
        share
    }

    /// Learns that a nap of `asked_ns` overshot by `over_ns`, of which usually `rest_ns` do not
    /// depend on its length. The part of this overshoot that did not is given where it is known.
    pub(super) fn learn(&mut self, asked_ns: f32, over_ns: f32, rest_ns: f32) -> Option<f32> {
        let share = ((over_ns - rest_ns) / asked_ns).max(0.0);
        let most = self.at_most();
        if asked_ns > SHARE_FROM_NS {
            self.0 = if share > self.0 {
                // Twice as much at most: it may have been a stall.
                share.min(2.0 * self.0.max(MACOS_LEAST)).min(MACOS_MOST)
            } else {
                self.0 + (share - self.0) * SHARE_FALL
            };
            if share * SHARE_NEAR > most {
                return None;
            }
        }
        let beyond_ns = over_ns - most * asked_ns;
        (beyond_ns > 0.0).then_some(beyond_ns)
    }
}

/// A nap that ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nap {
    pub(super) asked: Nanos,
    pub(super) slept: Nanos,
    /// In nanoseconds of the waiter's clock.
    pub(super) woke: u64,
}

impl Nap {
    /// Its overshoot.
    pub(super) fn over_ns(&self) -> f32 {
        // Both are far below 2^63 ns, which is 292 years.
        (self.slept.as_ns() as i64 - self.asked.as_ns() as i64) as f32
    }
}
