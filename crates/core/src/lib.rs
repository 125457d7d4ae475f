//! The pure core of punctual: a wait is a state machine, whose caller carries out its steps.
//!
//! Nothing here touches an operating system. A [`Strategy`] is one way of waiting, written as a
//! state machine; [`drive`] is the loop of a caller that carries out its steps on its own thread.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod arrivals;
pub mod bins;
pub mod crowd;
pub mod estimators;
pub mod frames;
pub mod method;
pub mod period;
pub mod schedule;
#[cfg(feature = "serde")]
mod serial;
pub mod setting;
pub mod strategies;
pub mod time;
pub mod wait;

pub use method::Method;
pub use period::{Period, Rate};
pub use schedule::Schedule;
pub use strategies::StrategySpec;
pub use time::{Clock, Lateness, Nanos, Tick};
pub use wait::{
    Driver, Ended, Event, Goal, Limit, Outcome, Reason, Step, Strategy, Turn, Wait, Wake, drive,
};
