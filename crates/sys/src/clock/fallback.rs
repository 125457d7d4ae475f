//! `std::time::Instant`, counted from the first reading of this process.

use punctual_core::Nanos;
use std::sync::OnceLock;
use std::time::Instant;

pub(super) const NAME: &str = "std::time::Instant";

#[inline]
pub(super) fn now_ns() -> u64 {
    Nanos::from(anchor().elapsed()).as_ns()
}

/// The standard library does not tell the step of its clock, so it is looked
/// for: the smallest difference between readings in a bounded run.
pub(super) fn resolution() -> Nanos {
    let mut smallest = u64::MAX;
    let mut last = now_ns();
    for _ in 0..100_000 {
        let next = now_ns();
        if next > last {
            smallest = smallest.min(next - last);
            last = next;
        }
    }
    // No step at all in that time: the clock is coarse, and one second is the
    // worst that anybody will believe.
    Nanos::new(smallest.min(1_000_000_000))
}

fn anchor() -> Instant {
    static ANCHOR: OnceLock<Instant> = OnceLock::new();
    *ANCHOR.get_or_init(Instant::now)
}
