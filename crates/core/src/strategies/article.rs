//! The two ways of waiting of the accurate-sleep article, as published.

use crate::estimators::Welford;
use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Limit, Step, Strategy, Turn};

/// The nap that `precise` repeats.
const NAP: Nanos = Nanos::from_ms(1);

/// The article's assumptions of the length of a nap and of the timer's error, before the first.
const FIRST_ESTIMATE_NS: f64 = 5e6;

/// *preciseSleep* of the accurate-sleep article: naps of 1 ms while the time
/// left is more than the mean nap plus `x` standard deviations, then a spin.
///
/// As published it forgets nothing and learns only while it naps. One nap that took longer than
/// the waits are long thus locks it out of sleeping for good. The article's statics are per waiter
/// here; nothing else is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precise {
    method: Method,
    x: f64,
    nap_ns: Welford,
}

impl Precise {
    pub(super) fn new(method: Method, x: f64) -> Self {
        Self {
            method,
            x,
            nap_ns: Welford::starting_at(FIRST_ESTIMATE_NS),
        }
    }

    /// How long a nap takes, as learned.
    pub fn learned(&self) -> Estimate {
        Estimate::of(&self.nap_ns, self.x)
    }
}

impl<C: Clock> Strategy<C> for Precise {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        if let Some(nap) = turn.nap() {
            self.nap_ns.learn(nap.slept.as_ns() as f64);
        }
        let left_ns = goal.left(turn.now()).as_ns() as f64;
        if left_ns > self.nap_ns.bound(self.x) {
            Step::block(self.method, Limit::For(NAP))
        } else {
            Step::Spin
        }
    }
}

/// The article waits on the timer only for more than this.
const SHORTEST_NAP_NS: f64 = 100.0;

/// *timerSleep* of the accurate-sleep article. It waits on a timer object for the time left, less
/// the mean error of that timer and `x` standard deviations. It repeats that as long as the result
/// is more than 100 ns, then spins.
///
/// It shares the lock-out of [`Precise`]. On a timer with next to no error it takes hundreds of
/// naps a wait while its first estimate fades. The article's statics are per waiter here; nothing
/// else is changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timer {
    method: Method,
    x: f64,
    error_ns: Welford,
}

impl Timer {
    pub(super) fn new(method: Method, x: f64) -> Self {
        Self {
            method,
            x,
            error_ns: Welford::starting_at(FIRST_ESTIMATE_NS),
        }
    }

    /// How much longer than asked a nap takes, as learned.
    pub fn learned(&self) -> Estimate {
        Estimate::of(&self.error_ns, self.x)
    }
}

impl<C: Clock> Strategy<C> for Timer {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        if let Some(nap) = turn.nap() {
            self.error_ns
                .learn(nap.slept.as_ns() as f64 - nap.asked.as_ns() as f64);
        }
        let nap_ns = goal.left(turn.now()).as_ns() as f64 - self.error_ns.bound(self.x);
        if nap_ns > SHORTEST_NAP_NS {
            Step::block(self.method, Limit::For(Nanos::new(nap_ns as u64)))
        } else {
            Step::Spin
        }
    }
}

/// The estimate of [`Precise`] or [`Timer`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of all it has seen.
    pub mean: Nanos,
    /// The length that it expects: the mean and this many deviations.
    pub bound: Nanos,
    /// How many standard deviations that is above the mean.
    pub deviations: f64,
}

impl Estimate {
    fn of(seen: &Welford, deviations: f64) -> Self {
        // Casts saturate: a mean below zero becomes zero.
        let ns = |ns: f64| Nanos::new(ns as u64);
        Self {
            mean: ns(seen.bound(0.0)),
            bound: ns(seen.bound(deviations)),
            deviations,
        }
    }
}
