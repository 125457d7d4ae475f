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

use crate::Time;

/// From one tick of a kernel to the next, with so many a second.
pub fn jiffy(hz: u64) -> Time {
    wheel::Wheel::new(hz).jiffy()
}
