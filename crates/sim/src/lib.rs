//! Simulated computers on which programs run in virtual time.
//!
//! A [`Model`] names a timer rule and its parameters; [`SimMachine`] runs
//! [programs](punctual_core::Program) under it. The same model, seed and
//! programs give the same observations, to the last bit, on every platform:
//! time is an integer and randomness comes from one value-stable generator.
//!
//! Each thread has a CPU of its own: nobody waits for a CPU. Programs that
//! would need more of a computer are refused by name.

mod clock;
mod machine;
mod model;
mod random;
pub mod rules;
mod thread;
mod time;
mod world;

pub use clock::SimClock;
pub use machine::SimMachine;
pub use model::{Costs, Model};
pub use random::Random;
pub use time::Time;
