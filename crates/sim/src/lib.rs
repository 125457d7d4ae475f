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
#[path = "../../rules/src/grid.rs"]
mod grid;
#[path = "../../rules/src/heap.rs"]
mod heap;
mod machine;
pub mod model;
#[path = "../../rules/src/random.rs"]
mod random;
#[path = "../../rules/src/lib.rs"]
pub mod rules;
mod scheduler;
mod thread;
#[path = "../../rules/src/timers.rs"]
mod timers;
pub mod trace;
mod world;

pub use clock::{SimClock, Time};
pub use grid::Grid;
pub use machine::SimMachine;
pub use model::{Costs, Model};
pub use random::Random;
pub use timers::Timers;
pub use trace::Trace;
pub use world::Limits;
pub use world::asking::{Doing, Hosted};
