#![doc = include_str!("../README.md")]

mod budget;
#[cfg(feature = "embedded-hal-async")]
mod delay;
mod desk;
mod heap;
mod interval;
mod lead;
mod queue;
mod shared;
mod sleep;
mod thread;
mod time;
mod timeout;
mod window;

#[cfg(feature = "embedded-hal-async")]
pub use delay::Delay;
pub use interval::{Interval, interval, interval_at};
pub use queue::{Advance, Counts, Fired, Key, TimerQueue};
pub use sleep::{Sleep, sleep, sleep_until};
pub use thread::{Builder, Timers, WeakTimers};
pub use time::{Epoch, Time};
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};
pub use window::{Grid, Window};
