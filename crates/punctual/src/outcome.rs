use std::time::Duration;

use punctual_core::Nanos;

/// What happened in one wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    lateness: Duration,
    naps: u32,
    slept: Duration,
    spun: Duration,
}

impl Outcome {
    /// The outcome of a wait for a deadline that passed `lateness` ago.
    pub(crate) fn of_past_deadline(lateness: Duration) -> Self {
        Self {
            lateness,
            ..Self::default()
        }
    }

    pub(crate) fn new(
        lateness: Duration,
        outcome: &punctual_core::Outcome,
        spun_since: Nanos,
    ) -> Self {
        Self {
            lateness,
            naps: outcome.naps,
            slept: outcome.slept.into(),
            spun: (outcome.spun + spun_since).into(),
        }
    }

    /// How long after its deadline the wait ended. Never less than zero,
    /// because no wait ends early.
    pub fn lateness(&self) -> Duration {
        self.lateness
    }

    /// How many times the thread gave up its CPU to an OS call.
    pub fn naps(&self) -> u32 {
        self.naps
    }

    /// The time spent in those calls, from entry to return.
    pub fn slept(&self) -> Duration {
        self.slept
    }

    /// The time spent spinning, which is CPU time used.
    pub fn spun(&self) -> Duration {
        self.spun
    }
}
