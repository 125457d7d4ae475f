use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Step, Strategy, Turn};

const NAP: Nanos = Nanos::from_ms(1);

/// Naps of 1 ms while more than the longest nap of this wait is left, then a
/// spin.
///
/// Nothing is remembered from one wait to the next, so there is no lock-out,
/// but every wait pays for its own lessons: a wake-up each millisecond.
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
            goal.block_for(self.method, NAP)
        } else {
            goal.spin()
        }
    }
}
