use crate::time::Clock;
use crate::wait::{Goal, Step, Strategy, Turn};

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
