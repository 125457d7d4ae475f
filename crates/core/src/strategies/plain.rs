//! The ways of waiting that remember nothing from one wait to the next.

use super::Defaults;
use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Limit, Step, Strategy, Turn};

/// One OS sleep for all the time that is left, again if it ends early.
///
/// The cheapest wait, and as late as the OS makes it. This is what
/// `std::thread::sleep` does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct System {
    pub(super) method: Method,
}

impl<C: Clock> Strategy<C> for System {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        Step::block(self.method, Limit::For(goal.left(turn.now())))
    }
}

/// Reads the clock until the deadline, at the price of a whole core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spin;

impl<C: Clock> Strategy<C> for Spin {
    fn next(&mut self, _goal: &Goal<C>, _turn: &Turn<C>) -> Step<C> {
        Step::Spin
    }
}

/// Offers the CPU to others between readings of the clock: the thread-scheduling
/// article's polite spin.
///
/// The thread that takes the offer may keep the CPU for a whole quantum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YieldSpin;

impl<C: Clock> Strategy<C> for YieldSpin {
    fn next(&mut self, _goal: &Goal<C>, _turn: &Turn<C>) -> Step<C> {
        Step::Yield
    }
}

/// One OS sleep that ends a fixed margin before the deadline, then a spin.
///
/// Accurate where the margin covers the OS's lateness, and as late as the OS
/// where it does not. Nothing is learned, so nothing can be unlearned. A call
/// that takes instants gets one, an ordinary sleep the length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedMargin {
    pub(super) method: Method,
    pub(super) margin: Nanos,
}

impl<C: Clock> Strategy<C> for FixedMargin {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        let nap = goal.left(turn.now()) - self.margin;
        if nap.is_zero() {
            Step::Spin
        } else if matches!(
            self.method,
            Method::Timer
                | Method::Timerfd
                | Method::Futex
                | Method::SlacklessFutex
                | Method::ClockNanosleepAbsolute
        ) {
            Step::block(self.method, Limit::Until(turn.now() + nap))
        } else {
            Step::block(self.method, Limit::For(nap))
        }
    }
}

/// A model of the crate spin_sleep 1.3 with its defaults: the sleep of [`FixedMargin`], then
/// a spin. Except on Windows, the spin yields the CPU between readings of the clock. On this
/// computer the crate itself is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpinSleep {
    sleep: FixedMargin,
    offers: bool,
}

impl SpinSleep {
    pub(super) fn of(defaults: Defaults) -> Self {
        Self {
            sleep: FixedMargin {
                method: defaults.margin_method,
                margin: defaults.margin,
            },
            offers: defaults.margin == Defaults::ELSEWHERE.margin,
        }
    }
}

impl<C: Clock> Strategy<C> for SpinSleep {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        match self.sleep.next(goal, turn) {
            Step::Spin if self.offers => Step::Yield,
            step => step,
        }
    }
}

/// The nap that `max-nap` repeats.
const NAP: Nanos = Nanos::from_ms(1);

/// Naps of 1 ms while more than the longest nap of this wait is left, then a
/// spin.
///
/// Nothing is remembered from one wait to the next, so there is no lock-out. Each wait pays for
/// its own lessons: a wake-up each millisecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxNap {
    method: Method,
    longest: Nanos,
}

impl MaxNap {
    pub(super) fn new(method: Method) -> Self {
        Self {
            method,
            longest: NAP,
        }
    }
}

impl<C: Clock> Strategy<C> for MaxNap {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        if let Turn::Begin(_) = turn {
            self.longest = NAP;
        }
        if let Some(nap) = turn.nap() {
            self.longest = self.longest.max(nap.slept);
        }
        if goal.left(turn.now()) > self.longest {
            Step::block(self.method, Limit::For(NAP))
        } else {
            Step::Spin
        }
    }
}
