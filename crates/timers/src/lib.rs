#![doc = include_str!("../README.md")]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
// docs.rs shows which feature a name needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod budget;
#[cfg(feature = "embedded-hal-async")]
mod delay;
mod desk;
mod heap;
mod instant;
mod interval;
mod lead;
mod queue;
mod shared;
mod sleep;
mod thread;
pub mod time;
mod timeout;
mod window;

#[cfg(feature = "embedded-hal-async")]
pub use delay::Delay;
pub use instant::{Epoch, Time};
pub use interval::Interval;
pub use queue::{Advance, Fired, Key, TimerQueue, WakeupCounts};
pub use sleep::Sleep;
pub use thread::{Timers, TimersBuilder, WeakTimers};
pub use timeout::{Elapsed, Timeout};
pub use window::{Grid, Window};
