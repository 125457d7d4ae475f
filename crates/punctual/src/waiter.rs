use std::time::{Duration, Instant};

use punctual_core::strategies::{Any, Methods};
use punctual_core::{Goal, Method, Nanos, drive};
use punctual_sys::wait::Sleeper;
use punctual_sys::{Error, clock};

use crate::outcome::Outcome;
use crate::strategy::Strategy;

/// Waits, one wait at a time, with one strategy and what that has learned.
///
/// A waiter may move between threads but serves one at a time; give each
/// thread its own. Building one makes the timer handle it needs, so that
/// waiting itself allocates nothing and cannot fail.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Strategy, Waiter};
///
/// let mut waiter = Waiter::builder()
///     .strategy(Strategy::fixed_margin(Duration::from_micros(200)))
///     .build()?;
/// let outcome = waiter.sleep(Duration::from_millis(3));
/// println!("{} naps, {:?} asleep, {:?} spinning", outcome.naps(), outcome.slept(), outcome.spun());
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Debug)]
pub struct Waiter {
    strategy: Any,
    sleeper: Sleeper,
    methods: Methods,
}

impl Waiter {
    /// A waiter with the [default strategy](Strategy::default).
    pub fn new() -> Self {
        Self::builder().build().expect(
            "the default strategy takes the calls that the system has, and there is always one",
        )
    }

    /// Chooses the strategy and the OS call of a new waiter.
    pub fn builder() -> Builder {
        Builder {
            strategy: Strategy::default(),
            method: None,
        }
    }

    /// The OS calls this waiter may sleep with, by their own names; none if its
    /// strategy never sleeps. Only `adaptive` has more than one.
    pub fn methods(&self) -> impl Iterator<Item = Method> {
        self.methods.iter()
    }

    /// Waits for `duration` from now. Never early.
    ///
    /// # Accuracy
    /// That of the [strategy](Strategy). All OS calls can be late by a
    /// scheduler quantum when every CPU is busy.
    pub fn sleep(&mut self, duration: Duration) -> Outcome {
        let now = clock::now();
        let goal = Goal::until(now + Nanos::from(duration));
        let outcome = drive(&mut self.strategy, goal, now, &mut self.sleeper);
        let late = u64::try_from(outcome.late.as_ns()).unwrap_or(0);
        Outcome::new(Nanos::new(late), &outcome, Nanos::ZERO)
    }

    /// Waits until `deadline`. Never early; a deadline that has passed costs
    /// one reading of the clock.
    ///
    /// # Accuracy
    /// As [`sleep`](Self::sleep).
    #[inline]
    pub fn sleep_until(&mut self, deadline: Instant) -> Outcome {
        unless_past(deadline, |left| self.wait_out(left, deadline))
    }

    /// Waits for a deadline that was still `left` away a moment ago.
    pub(crate) fn wait_out(&mut self, left: Duration, deadline: Instant) -> Outcome {
        // Read after the caller's clock, so that the goal is never before the
        // deadline, and after it only by the time between the readings.
        let now = clock::now();
        let goal = Goal::until(now + Nanos::from(left));
        let outcome = drive(&mut self.strategy, goal, now, &mut self.sleeper);
        // The two clocks may differ by a rounding; the caller's decides.
        let first = Instant::now();
        let mut woke = first;
        while woke < deadline {
            std::hint::spin_loop();
            woke = Instant::now();
        }
        Outcome::new((woke - deadline).into(), &outcome, (woke - first).into())
    }
}

/// Reads the caller's clock once, and waits with `wait` for the time left if
/// there is any.
#[inline]
pub(crate) fn unless_past(deadline: Instant, wait: impl FnOnce(Duration) -> Outcome) -> Outcome {
    let now = Instant::now();
    // Compared first: a subtraction that would be negative costs double.
    if now >= deadline {
        Outcome::of_past_deadline(now - deadline)
    } else {
        wait(deadline - now)
    }
}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

/// Builds a [`Waiter`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    strategy: Strategy,
    method: Option<Method>,
}

impl Builder {
    /// The strategy; [`Strategy::default`] if none is chosen.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// The OS call to sleep with, instead of the strategy's usual one.
    pub fn method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// Builds the waiter.
    ///
    /// # Errors
    /// [`is_unsupported`](Error::is_unsupported) when this system does not have
    /// the method, or refuses it. [`is_range`](Error::is_range) when a parameter
    /// of the strategy is out of range.
    pub fn build(self) -> Result<Waiter, Error> {
        let mut spec = self.strategy.spec()?;
        if let Some(method) = self.method {
            spec = spec.with_method(method);
        }
        let mut sleeper = Sleeper::new();
        // What was granted is what is used: a fallback does not fall back again.
        let spec = match spec.granted(&mut |method| sleeper.prepare(method).ok()) {
            Ok(spec) => spec,
            Err(refused) => {
                sleeper.prepare(refused)?;
                spec
            }
        };
        Ok(Waiter {
            strategy: spec.build(),
            sleeper,
            methods: spec.methods(),
        })
    }
}
