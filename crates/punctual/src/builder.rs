//! The parts of a waiter: a strategy, its limits, and its earlier knowledge.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use punctual_core::strategies::AnyStrategy;
use punctual_core::{Method, StrategySpec};
use punctual_sys::Error;
use punctual_sys::nap::Slack;

use crate::budget::{Budget, Learned, Promise};
use crate::clock::Clock;
use crate::strategy::Strategy;
use crate::waiter::{TIMER, Waiter};

/// Builds a [`Waiter`].
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    strategy: Strategy,
    budget: Option<Budget>,
    promise: Option<Promise>,
    slack: Slack,
    learned: Option<Learned>,
    statistics: bool,
    clock: Option<Arc<dyn Clock>>,
}

impl Builder {
    /// The strategy; by default [`Strategy::default`].
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// A hard limit on what `adaptive` spins, whatever the weight of lateness, also under
    /// load. [`Outcome::hit_budget`](crate::Outcome::hit_budget) says when it was too small.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Sets the promise of `adaptive`: it adjusts its weight to keep it, starting from the weight
    /// of the strategy. A promise that limits spinning replaces the [`budget`](Self::budget).
    pub fn promise(mut self, promise: Promise) -> Self {
        self.promise = Some(promise);
        self
    }

    /// Sets the handling of the thread's timer slack during naps, on Linux; the default is
    /// [`Slack::PerNap`].
    pub fn slack(mut self, slack: Slack) -> Self {
        self.slack = slack;
        self
    }

    /// Begins with what another waiter has [learned](Waiter::learned), so that the first
    /// waits are as good as its last. Strategies other than `adaptive` ignore it.
    pub fn learned(mut self, learned: &Learned) -> Self {
        self.learned = Some(learned.clone());
        self
    }

    /// Keeps [`Statistics`](crate::Statistics) from the first wait on.
    pub fn statistics(mut self) -> Self {
        self.statistics = true;
        self
    }

    /// Waits on this clock instead of the system's; [`Waiter::now`] reads it. [`Slack`] and
    /// signals then have no effect.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Builds the waiter.
    ///
    /// # Errors
    /// [`is_range`](Error::is_range) if a parameter of the strategy, the budget or the promise
    /// is out of range, or the strategy has no budget or promise.
    /// [`is_unsupported`](Error::is_unsupported) if the strategy names an OS call: the library
    /// uses the best one itself.
    pub fn build(self) -> Result<Waiter, Error> {
        let mut spec = self.strategy.spec(self.budget, self.promise)?;
        let timer = self.clock.as_ref().map_or(TIMER, |clock| clock.timer());
        if let (StrategySpec::FixedMargin { method, .. }, Some(_)) = (&mut spec, &self.clock) {
            // As the library has it on that system.
            *method = match timer {
                Method::HighResolutionTimer | Method::WaitableTimer => timer,
                _ => Method::Sleep,
            };
        } else if spec.method() == Some(Method::Timer) {
            spec = spec.with_method(timer);
        }
        let mut strategy = spec.build();
        if let (AnyStrategy::Adaptive(adaptive), Some(learned)) = (&mut strategy, &self.learned) {
            adaptive.begin_with(&learned.0);
        }
        let mut waiter = Waiter::new();
        waiter.strategy = strategy;
        waiter.slack = self.slack;
        waiter.clock = self.clock;
        waiter.kept = self.statistics.then(Box::default);
        Ok(waiter)
    }
}

// A clock of the user's that panics leaves nothing broken.
impl UnwindSafe for Builder {}
impl RefUnwindSafe for Builder {}

impl Waiter {
    /// A waiter with a strategy, a budget and other settings of your choice.
    pub fn builder() -> Builder {
        Builder::default()
    }
}
