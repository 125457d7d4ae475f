//! How naps end where that is regular: on ticks on Windows, late by a share of
//! their length on macOS. Elsewhere this costs nothing.

use crate::estimators::grid::{Grid, Kind};
use crate::estimators::share::Share;
use crate::method::Method;
use crate::time::Nanos;

use super::class::{self, CLASSES};

/// A nap that overshoots by four times the usual and this says nothing about a share.
const USUAL_NS: f32 = 200e3;
/// xnu lets timers of threads of the default class be late by an eighth of their
/// length, and by 1 ms at most (its `timer_coalescing` tunables: shift 3, cap 1 ms).
const MACOS_SHARE: f32 = 1.0 / 8.0;
const MACOS_MOST_NS: f32 = 1e6;

/// Until a class has seen ten naps, they are shortened by one to four times 0.1 ms:
/// naps of one length say nothing about ticks. The finest known step is 0.5 ms.
const VARIED: u32 = 10;
const VARIES: u32 = 5;
const VARY: Nanos = Nanos::from_us(100);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Regular {
    Ticks {
        /// The unit in which the call counts lengths, which it rounds up.
        unit: Nanos,
        clock: Grid,
        steps: Grid,
    },
    Share([Share; CLASSES]),
}

/// When naps with a call may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    AtAnyTime,
    /// On ticks about 0.5 ms apart.
    OnFineTicks,
    /// On ticks up to 15.6 ms apart, for lengths in whole milliseconds or in
    /// nanoseconds.
    OnTicks {
        in_ms: bool,
    },
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
            | Method::WindowsMessageTimer => Self::OnTicks { in_ms: true },
            Method::WaitableTimer => Self::OnTicks { in_ms: false },
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
            Self::OnTicks { .. } => 16e6,
            Self::LateByAShare => 30e3,
        }
    }
}

impl Regular {
    /// `None` where naps end at any time.
    pub(super) fn new(method: Method) -> Option<Self> {
        let unit = match Ends::of(method) {
            Ends::AtAnyTime => return None,
            Ends::LateByAShare => {
                return Some(Self::Share(std::array::from_fn(|class| {
                    let length = class::from_ns(class) as f32;
                    let is_capped = length * MACOS_SHARE >= MACOS_MOST_NS;
                    Share::believed(if is_capped { 0.0 } else { MACOS_SHARE })
                })));
            }
            Ends::OnTicks { in_ms: true } => Nanos::from_ms(1),
            Ends::OnTicks { in_ms: false } | Ends::OnFineTicks => Nanos::new(1),
        };
        Some(Self::Ticks {
            unit,
            clock: Grid::new(Kind::Clock),
            steps: Grid::new(Kind::Steps),
        })
    }

    /// The ticks that predict best when naps end, if any do.
    pub(super) fn grid(&self) -> Option<&Grid> {
        let Self::Ticks { clock, steps, .. } = self else {
            return None;
        };
        [clock, steps]
            .into_iter()
            .filter(|grid| grid.period_ns().is_some())
            .min_by(|a, b| a.off_ns().total_cmp(&b.off_ns()))
    }

    /// The share of its length by which a nap of `class` overshoots.
    pub(super) fn share(&self, class: usize) -> f32 {
        match self {
            Self::Ticks { .. } => 0.0,
            Self::Share(shares) => shares[class].share(),
        }
    }

    /// By how much to shorten a nap of a class that has seen this many.
    pub(super) fn varied_by(&self, naps: u32) -> Nanos {
        match self {
            Self::Ticks { .. } if naps < VARIED => VARY.times((naps % VARIES).into()),
            _ => Nanos::ZERO,
        }
    }

    /// A length rounded down to what the call can count; `None` if that is nothing.
    pub(super) fn whole(&self, length: Nanos) -> Option<Nanos> {
        match self {
            Self::Ticks { unit, .. } => {
                let units = length.as_ns() / unit.as_ns();
                (units > 0).then(|| unit.times(units))
            }
            Self::Share(_) => Some(length),
        }
    }

    /// Learns a nap of `class`, which was expected to overshoot by `usual_ns` at the
    /// reference length of its class. Whether another share of the length holds now.
    pub(super) fn learn(&mut self, class: usize, nap: Nap, usual_ns: f32) -> bool {
        match self {
            Self::Ticks { clock, steps, .. } => {
                let begin = nap.woke.saturating_sub(nap.slept.as_ns());
                let due = begin.saturating_add(nap.asked.as_ns());
                clock.learn(begin, due, nap.woke);
                steps.learn(begin, due, nap.woke);
                false
            }
            Self::Share(shares) => {
                let is_usual = nap.over_ns() < 4.0 * usual_ns + USUAL_NS + MACOS_MOST_NS;
                is_usual && shares[class].learn(nap.asked.as_ns() as f32, nap.over_ns())
            }
        }
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
