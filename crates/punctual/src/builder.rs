//! The parts of a waiter: a strategy, its limits, and its earlier knowledge.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use punctual_core::strategies::AnyStrategy;
use punctual_core::{Method, StrategySpec};

use crate::budget::Budget;
use crate::clock::Clock;
use crate::error::Error;
use crate::profile::Profile;
use crate::slack::Slack;
use crate::strategy::Strategy;
use crate::target::Target;
use crate::waiter::{TIMER, Waiter, timer_of};

/// Builds a [`Waiter`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Budget, Strategy, Waiter};
///
/// let mut waiter = Waiter::builder()
///     .strategy(Strategy::frugal())
///     .budget(Budget::PerWait(Duration::from_micros(100)))
///     .statistics()
///     .build()?;
/// waiter.sleep(Duration::from_millis(1));
/// assert_eq!(waiter.statistics().waits(), 1);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WaiterBuilder {
    strategy: Strategy,
    budget: Option<Budget>,
    target: Option<Target>,
    slack: Slack,
    profile: Option<Profile>,
    statistics: bool,
    clock: Option<Arc<dyn Clock>>,
}

impl WaiterBuilder {
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

    /// Sets the target of `adaptive`: it adjusts its weight to meet it, starting from the weight
    /// of the strategy. A target that limits spinning replaces the [`budget`](Self::budget).
    pub fn target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }

    /// Sets the handling of the thread's timer slack during naps, on Linux; the default is
    /// [`Slack::PerNap`].
    pub fn slack(mut self, slack: Slack) -> Self {
        self.slack = slack;
        self
    }

    /// Begins with the [profile](Waiter::profile) of another waiter, so that the first
    /// waits are as good as its last. Strategies other than `adaptive` ignore it.
    pub fn profile(mut self, profile: &Profile) -> Self {
        self.profile = Some(profile.clone());
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
    /// [`is_range`](Error::is_range) if a parameter of the strategy, the budget or the target
    /// is out of range, or the strategy has no budget or target.
    /// [`is_unsupported`](Error::is_unsupported) if the strategy names an OS call: the library
    /// uses the best one itself.
    pub fn build(self) -> Result<Waiter, Error> {
        let mut spec = self.strategy.spec(self.budget, self.target)?;
        let timer = self
            .clock
            .as_ref()
            .map_or(TIMER, |clock| timer_of(&**clock));
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
        if let (AnyStrategy::Adaptive(adaptive), Some(profile)) = (&mut strategy, &self.profile) {
            adaptive.begin_with(&profile.0);
        }
        let mut waiter = Waiter::new();
        waiter.strategy = strategy;
        waiter.slack = self.slack.sys();
        waiter.clock = self.clock;
        waiter.kept = self.statistics.then(Box::default);
        Ok(waiter)
    }
}

// A clock of the user's that panics leaves nothing broken.
impl UnwindSafe for WaiterBuilder {}
impl RefUnwindSafe for WaiterBuilder {}

impl Waiter {
    /// A waiter with a strategy, a budget and other settings of your choice.
    pub fn builder() -> WaiterBuilder {
        WaiterBuilder::default()
    }
}
