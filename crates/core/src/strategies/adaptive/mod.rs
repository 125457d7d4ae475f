//! `adaptive`: sleeps as long as it may and spins as long as it must, so that
//! CPU time and lateness together cost least.

mod class;
mod learned;
mod mind;
mod plan;
mod prior;
mod way;

pub use learned::{Learned, LearnedClass, LearnedMethod, PlannedStep, Until};

use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Limit, Step, Strategy, Turn, Wake};

use mind::Mind;

/// The most a wait spins; see [`Adaptive`].
pub(super) const SPIN_BUDGET: Nanos = plan::SPIN_MAX;

/// How much too early a nap may end, and an eighth of its length.
const EARLY: Nanos = Nanos::from_us(20);

/// A plan is made in the time that would be spun otherwise, if there is so much
/// of it.
const PLANNING: Nanos = Nanos::from_us(2);

/// Chooses each nap so that what is left of the wait is expected to cost
/// least, where a nanosecond of CPU time costs 1 and a nanosecond of lateness
/// `late_weight`.
///
/// It learns how much longer naps take than asked, for each OS call it may use
/// and each class of lengths, and what they cost in CPU time. Sudden changes
/// are recognised and what was before them is forgotten; where naps end on the
/// ticks of a clock, it finds those and aims for one. It never stops trying to
/// sleep, and never spins for longer than 40 ms.
///
/// The method is explained in `docs/adaptive.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptive {
    /// Boxed: it is a kilobyte for each call and class.
    mind: Box<Mind>,
}

impl Adaptive {
    /// A waiter that has seen nothing, and may sleep with `methods`.
    pub(super) fn new(late_weight: f64, methods: &[Method]) -> Self {
        Self {
            mind: Box::new(Mind::new(late_weight as f32, methods)),
        }
    }

    /// What it has learned.
    pub fn learned(&self) -> Learned {
        learned::of(&self.mind)
    }
}

impl<C: Clock> Strategy<C> for Adaptive {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        let mind = &mut *self.mind;
        let now = turn.now();
        match turn {
            Turn::Begin(_) => mind.begin(goal.or.is_some()),
            Turn::Woke(_) => {
                if let Some(nap) = turn.nap().filter(lasted) {
                    mind.learn(nap, now < goal.deadline);
                }
            }
        }
        let left = goal.left(now);
        if left.is_zero() {
            return Step::Done;
        }
        let Some(nap) = mind.choose(now.as_ns(), left, goal.or.is_some()) else {
            if left > PLANNING {
                mind.renew_a_plan(goal.or.is_some());
            }
            return goal.spin();
        };
        Step::Block {
            method: nap.method,
            limit: Limit::For(nap.length),
            or: goal.or,
            metered: nap.metered,
        }
    }
}

/// Whether a nap took about as long as it was to take, at least. A clock that
/// stands still, or a call that comes back early, says nothing about lateness.
fn lasted<C: Clock>(nap: &&Wake<C>) -> bool {
    nap.slept >= nap.asked - EARLY.max(Nanos::new(nap.asked.as_ns() / 8))
}
