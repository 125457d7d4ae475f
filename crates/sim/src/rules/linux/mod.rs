//! Linux: three kinds of timers, on CPUs that may or may not tick.
//!
//! | file | what is in it |
//! |---|---|
//! | `rule` | which call uses which timer |
//! | `task` | what a thread carries: timer slack and priority |
//! | `wheel` | the jiffies wheel of network timeouts |
//! | `parameters` | how a kernel is configured and booted |
//! | `versions` | what its scheduler does, and what that was in which version |
//!
//! High-resolution timers themselves are in `rules/soft_hard`.

mod parameters;
mod rule;
mod task;
mod versions;
mod wheel;

pub use rule::Linux;
pub(crate) use versions::{V6_1, V6_6, V6_12, V6_18, V7_1};
