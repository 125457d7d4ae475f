//! The spin budget of this process.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::budget::SpinBudget;
use crate::instant::{Epoch, ns};

static BUDGET: SpinBudget = SpinBudget::new();

/// The time by the budget's clock.
fn time_ns(now: Instant) -> u64 {
    static EPOCH: OnceLock<Epoch> = OnceLock::new();
    EPOCH.get_or_init(Epoch::now).time(now).as_ns()
}

/// A pending timer's share in the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    weight: u64,
}

impl Share {
    /// The share of a timer that is due in `left`.
    pub(crate) fn of(left: Duration) -> Self {
        let weight = BUDGET.join(ns(left));
        Self { weight }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        BUDGET.leave(self.weight);
    }
}

/// Forgets all shares: those of a parent process.
pub(crate) fn forget_shares() {
    BUDGET.forget();
}

/// Returns the part of `lead` by which to wake up ahead of a deadline.
pub(crate) fn lead(now: Instant, lead: Duration) -> Duration {
    Duration::from_nanos(BUDGET.lead(time_ns(now), ns(lead)))
}

/// Takes `left` from the budget, all or nothing. Returns whether there was enough.
pub(crate) fn take(now: Instant, left: Duration) -> bool {
    BUDGET.take(time_ns(now), ns(left))
}

/// Returns how long the thread of the sleeps rests between wake-ups.
pub(crate) fn rest() -> Duration {
    Duration::from_nanos(BUDGET.rest())
}

/// Whether the number of pending timers limits spinning.
pub(crate) fn is_limited() -> bool {
    BUDGET.is_limited()
}
