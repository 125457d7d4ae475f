//! The ways of waiting that neither learn nor remember anything.

use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Step, Strategy, Turn};

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
        goal.block_for(self.method, goal.left(turn.now()))
    }
}

/// Reads the clock until the deadline, at the price of a whole core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spin;

impl<C: Clock> Strategy<C> for Spin {
    fn next(&mut self, goal: &Goal<C>, _turn: &Turn<C>) -> Step<C> {
        goal.spin()
    }
}

/// Offers the CPU to others between readings of the clock: the thread-scheduling
/// article's polite spin.
///
/// Whoever takes the offer may keep the CPU for a whole quantum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YieldSpin;

impl<C: Clock> Strategy<C> for YieldSpin {
    fn next(&mut self, goal: &Goal<C>, _turn: &Turn<C>) -> Step<C> {
        Step::Yield { or: goal.or }
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
            goal.spin()
        } else if matches!(
            self.method,
            Method::Timer
                | Method::Timerfd
                | Method::Futex
                | Method::SlacklessFutex
                | Method::ClockNanosleepAbsolute
        ) {
            goal.block_until(self.method, turn.now() + nap)
        } else {
            goal.block_for(self.method, nap)
        }
    }
}
