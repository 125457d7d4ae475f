use crate::time::Clock;
use crate::wait::{Goal, Step, Strategy, Turn};

/// Reads the clock until the deadline, at the price of a whole core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spin;

impl<C: Clock> Strategy<C> for Spin {
    fn next(&mut self, goal: &Goal<C>, _turn: &Turn<C>) -> Step<C> {
        goal.spin()
    }
}
