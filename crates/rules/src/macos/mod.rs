//! macOS: timers coalesced by the class of the thread.

mod options;
mod rule;

pub use options::{AppNap, Options};
pub use rule::MacOs;
