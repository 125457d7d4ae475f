//! What the rest of a wait costs.

use crate::time::Nanos;

use super::class::{CLASSES, Class};

/// A nap, and what a wait costs with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// How long before its goal it should end.
    pub(super) margin_ns: f32,
    /// What the wait is expected to cost with it, and with all that comes after.
    pub(super) cost_ns: f32,
}

impl Plan {
    const NONE: Self = Self {
        margin_ns: f32::INFINITY,
        cost_ns: f32::INFINITY,
    };

    /// Whether so much left is enough for it.
    pub(super) fn is_for(self, left_ns: f32) -> bool {
        left_ns > self.margin_ns + SHORTEST_NS
    }
}

/// The shortest nap that is asked for.
pub(super) const SHORTEST_NS: f32 = 1_000.0;

/// What a wait costs from some point on, by the time that is left: never more
/// than to spin for it, and where a nap fits in, never more than that.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rest([[Plan; 2]; CLASSES]);

impl Rest {
    pub(super) fn new() -> Self {
        Self([[Plan::NONE; 2]; CLASSES])
    }

    /// These are the best plans for what is left, if it is of `class`.
    pub(super) fn set(&mut self, class: Class, plans: [Plan; 2]) {
        self.0[class.index()] = plans;
    }

    /// What it costs at most to wait for the time `left_ns`.
    pub(super) fn cost_ns(&self, left_ns: f32) -> f32 {
        if left_ns <= 0.0 {
            return f32::INFINITY;
        }
        let [free, tight] = self.0[Class::of_ns(left_ns as u64).index()];
        let plan = if free.is_for(left_ns) { free } else { tight };
        if plan.is_for(left_ns) {
            plan.cost_ns.min(left_ns)
        } else {
            left_ns
        }
    }
}

/// The time left for which any plan spins, and below which no plan must sleep.
pub(super) const SPIN_MAX: Nanos = Nanos::from_ms(40);
