use crate::method::Method;
use crate::time::Clock;
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
