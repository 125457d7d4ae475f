//! Simulated computers on which programs run in virtual time.
//!
//! A [`Model`] names a timer rule and its parameters; [`SimMachine`] runs
//! [programs](punctual_program::Program) under it. The same model, seed and programs give the same
//! observations, to the last bit, on every platform. For that time is an integer, and randomness
//! comes from one value-stable generator.
//!
//! A model is a whole computer: CPUs with a scheduler and idle states, processes and threads. It
//! refuses unsupported operations by name.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

mod clock;
mod computer;
mod machine;
pub mod model;
mod scheduler;
mod thread;
pub mod trace;
mod world;

pub use clock::SimClock;
pub use machine::SimMachine;
pub use model::{Costs, Model};
pub use punctual_rules as rules;
pub use punctual_rules::{Grid, Random, Time, Timers};
pub use trace::Trace;
pub use world::Limits;
pub use world::asking::{Doing, Hosted};
