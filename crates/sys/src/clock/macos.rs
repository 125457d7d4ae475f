//! `mach_absolute_time`, the clock that `mach_wait_until` runs on.
//!
//! One count is 1 ns on Intel Macs and 125/3 ns on Apple silicon, so the ratio
//! must be asked for and must not be turned upside down (Apple QA1398).

use crate::scale::Scale;
use mach2::mach_time::{mach_absolute_time, mach_timebase_info};
use punctual_core::Nanos;
use std::sync::OnceLock;

pub(super) const NAME: &str = "mach_absolute_time";

#[inline]
pub(super) fn now_ns() -> u64 {
    scale().to_ns(counter_now())
}

pub(super) fn resolution() -> Nanos {
    scale().step()
}

/// The raw counter.
pub fn counter_now() -> u64 {
    // SAFETY: reads a counter, has no preconditions.
    unsafe { mach_absolute_time() }
}

/// What a value of that counter is on this clock.
pub fn counter_ns(count: u64) -> u64 {
    scale().to_ns(count)
}

/// The first counter value that is not before `ns` on this clock.
pub fn counter_at(ns: u64) -> u64 {
    scale().from_ns(ns)
}

#[inline]
fn scale() -> &'static Scale {
    static SCALE: OnceLock<Scale> = OnceLock::new();
    SCALE.get_or_init(|| {
        let mut base = mach_timebase_info { numer: 1, denom: 1 };
        // SAFETY: `base` is a valid place for the ratio.
        unsafe { mach2::mach_time::mach_timebase_info(&mut base) };
        // A system that states no ratio counts nanoseconds.
        Scale::from_timebase(base.numer, base.denom).unwrap_or(Scale::NANOSECONDS)
    })
}
