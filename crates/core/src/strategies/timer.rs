use crate::estimators::Welford;
use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Step, Strategy, Turn};

use super::precise::Estimate;

/// What the article assumes the timer's error to be before it has seen one.
const FIRST_ESTIMATE_NS: f64 = 5e6;

/// The article waits on the timer only for more than this.
const SHORTEST_NAP_NS: f64 = 100.0;

/// *timerSleep* of the accurate-sleep article: waits on a timer object for the
/// time left less the mean error of that timer and `x` standard deviations,
/// for as long as that is more than 100 ns, then spins.
///
/// It shares the lock-out of [`Precise`](super::Precise), and on a timer with
/// next to no error it takes hundreds of naps a wait while its first estimate
/// fades. The article's
/// statics are per waiter here; nothing else is changed.
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
            goal.block_for(self.method, Nanos::new(nap_ns as u64))
        } else {
            goal.spin()
        }
    }
}
