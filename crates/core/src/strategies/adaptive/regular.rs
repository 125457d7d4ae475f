//! How naps end where that is regular: on ticks on Windows, late by a share of
//! their length on macOS. Elsewhere this costs nothing.

use crate::estimators::grid::{Grid, Kind};
use crate::method::Method;
use crate::time::Nanos;

use super::class;

/// xnu lets timers of threads of the default class be late by an eighth of their
/// length, and by 1 ms at most (its `timer_coalescing` tunables: shift 3, cap 1 ms).
/// Believed, not learned: a line fitted to the naps costs simulated ones a tenth more.
const MACOS_SHARE: f32 = 1.0 / 8.0;
const MACOS_MOST_NS: f32 = 1e6;

/// Until a class has seen ten naps, they are shortened by one to four times 0.1 ms:
/// naps of one length say nothing about ticks. The finest known step is 0.5 ms.
const VARIED: u32 = 10;
const VARIES: u32 = 5;
const VARY: Nanos = Nanos::from_us(100);

/// When naps with a call may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    AtAnyTime,
    /// On ticks about 0.5 ms apart.
    OnFineTicks,
    /// On ticks up to 15.6 ms apart, for lengths in nanoseconds or in whole
    /// milliseconds.
    OnTicks,
    OnTicksInMs,
    /// Late by a share of their length.
    LateByAShare,
}

impl Ends {
    pub(super) const fn of(method: Method) -> Self {
        match method {
            Method::WindowsSleep
            | Method::WindowsSleepEx
            | Method::WaitForSingleObject
            | Method::WaitForMultipleObjects
            | Method::WindowsMessageTimer => Self::OnTicksInMs,
            Method::WaitableTimer => Self::OnTicks,
            Method::HighResolutionTimer => Self::OnFineTicks,
            Method::MachWaitUntil | Method::Kevent => Self::LateByAShare,
            _ => Self::AtAnyTime,
        }
    }

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

    /// The share of its length by which a nap of `class` overshoots.
    pub(super) fn share(self, class: usize) -> f32 {
        let is_capped = class::from_ns(class) as f32 * MACOS_SHARE >= MACOS_MOST_NS;
        match self {
            Self::LateByAShare if !is_capped => MACOS_SHARE,
            _ => 0.0,
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
}

impl Ticks {
    /// `None` where there are none.
    pub(super) fn new(ends: Ends) -> Option<Self> {
        Some(Self {
            unit: ends.unit()?,
            clock: Grid::new(Kind::Clock),
            steps: Grid::new(Kind::Steps),
        })
    }

    /// The ticks that predict best when naps end, if any do.
    pub(super) fn grid(&self) -> Option<&Grid> {
        [&self.clock, &self.steps]
            .into_iter()
            .filter(|grid| grid.period_ns().is_some())
            .min_by(|a, b| a.off_ns().total_cmp(&b.off_ns()))
    }

    /// By how much to shorten a nap of a class that has seen this many.
    pub(super) fn varied_by(naps: u32) -> Nanos {
        if naps < VARIED {
            VARY.times((naps % VARIES).into())
        } else {
            Nanos::ZERO
        }
    }

    /// A length rounded down to what the call can count; `None` if that is nothing.
    pub(super) fn whole(&self, length: Nanos) -> Option<Nanos> {
        let units = length.as_ns() / self.unit.as_ns();
        (units > 0).then(|| self.unit.times(units))
    }

    pub(super) fn learn(&mut self, nap: Nap) {
        let begin = nap.woke.saturating_sub(nap.slept.as_ns());
        let due = begin.saturating_add(nap.asked.as_ns());
        self.clock.learn(begin, due, nap.woke);
        self.steps.learn(begin, due, nap.woke);
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
