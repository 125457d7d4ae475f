//! Linux: three kinds of timers, on CPUs that may or may not tick.
//!
//! | file | what is in it |
//! |---|---|
//! | `rule` | which call uses which timer |
//! | `options` | how a kernel is configured and booted |
//! | `task` | what a thread carries: timer slack and priority |
//! | `wheel` | the jiffies wheel of network timeouts |
//!
//! How a kernel is configured and booted, and what its scheduler does in which version, is in `models.toml`.
//!
//! High-resolution timers themselves are in `rules/soft_hard`.

mod options;
mod rule;
mod task;
mod wheel;

pub use options::Options;
pub use rule::{Linux, NoHz};
pub use task::poll_slack_ns;

use crate::Time;

/// From one tick of a kernel to the next, with so many a second.
pub fn jiffy(hz: u64) -> Time {
    wheel::Wheel::new(hz).jiffy()
}

/// The rounding of a socket timeout: how late the timer wheel may end it, for a kernel with so many ticks a second. In
/// nanoseconds.
pub fn wheel_rounding_ns(hz: u64, length_ns: u64) -> u64 {
    let wheel = wheel::Wheel::new(hz.max(1));
    let (_, granule) = wheel.expiry(Time::ZERO, Time::from_ns(length_ns));
    granule.max(wheel.jiffy()).floor_ns()
}
