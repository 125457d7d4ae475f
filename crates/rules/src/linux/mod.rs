//! Linux: three kinds of timers, on CPUs that may or may not tick.
//!
//! | file | what is in it |
//! |---|---|
//! | `rule` | which call uses which timer |
//! | `task` | what a thread carries: timer slack and priority |
//! | `wheel` | the jiffies wheel of network timeouts |
//!
//! How a kernel is configured and booted, and what its scheduler does in which version, is in `models.toml`.
//!
//! High-resolution timers themselves are in `rules/soft_hard`.

mod rule;
mod task;
mod wheel;

pub use rule::Linux;
