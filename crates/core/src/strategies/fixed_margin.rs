use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Step, Strategy, Turn};

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
