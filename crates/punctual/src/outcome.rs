use std::time::Duration;

use punctual_core::Nanos;

/// What happened in one wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    late: Nanos,
    slept: Nanos,
    spun: Nanos,
    naps: u32,
}

impl Outcome {
    /// The outcome of a wait for a deadline that passed `late` ago.
    #[inline]
    pub(crate) fn of_past_deadline(late: Duration) -> Self {
        Self {
            late: late.into(),
            ..Self::default()
        }
    }

    /// The outcome of a wait that ended `late` on the caller's clock, after a
    /// spin of `and_spun` on that clock.
    pub(crate) fn new(late: Nanos, outcome: &punctual_core::Outcome, and_spun: Nanos) -> Self {
        Self {
            late,
            slept: outcome.slept,
            spun: outcome.spun + and_spun,
            naps: outcome.naps,
        }
    }

    /// How long after its deadline the wait ended. Never less than zero,
    /// because no wait ends early.
    pub fn lateness(&self) -> Duration {
        self.late.into()
    }

    /// How many times the thread gave up its CPU to an OS call.
    pub fn naps(&self) -> u32 {
        self.naps
    }

    /// The time spent in those calls, from entry to return.
    pub fn slept(&self) -> Duration {
        self.slept.into()
    }

    /// The time spent spinning, which is CPU time used.
    pub fn spun(&self) -> Duration {
        self.spun.into()
    }
}
