#![doc = include_str!("../README.md")]

mod heap;
mod queue;
mod time;
mod window;

pub use queue::{Advance, Counts, Fired, Key, TimerQueue};
pub use time::{Epoch, Time};
pub use window::{Grid, Window};
