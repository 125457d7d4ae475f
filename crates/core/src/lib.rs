//! The pure core of punctual: what lives in time is a state machine, and
//! machines run it.
//!
//! Nothing here touches an operating system. A [`Strategy`] is one way of
//! waiting, written as a state machine; a [`Program`] is one thread of an
//! experiment, written as data; a [`Machine`] runs programs, for real or in
//! virtual time, and returns [`Observations`].

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod conformance;
pub mod estimators;
pub mod machine;
pub mod method;
pub mod pace;
pub mod probe;
pub mod program;
mod refusal;
#[cfg(feature = "serde")]
mod serial;
pub mod setting;
pub mod strategies;
pub mod time;
pub mod wait;

pub use machine::{Machine, Observations};
pub use method::Method;
pub use probe::Probe;
pub use program::Program;
pub use refusal::Refusal;
pub use setting::Setting;
pub use strategies::Spec;
pub use time::{Clock, Lateness, Nanos, Rate, Tick};
pub use wait::{
    Carrier, Event, Goal, Limit, Outcome, Reason, Step, Strategy, Turn, Wait, Wake, drive,
};
