use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Step, Strategy, Turn};

/// One OS sleep that ends a fixed margin before the deadline, then a spin.
///
/// Accurate where the margin covers the OS's lateness, and as late as the OS
/// where it does not. Nothing is learned, so nothing can be unlearned.
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
        } else {
            goal.block_for(self.method, nap)
        }
    }
}
