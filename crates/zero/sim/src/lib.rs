//! Simulated computers that zeroing pools run on: those of `punctual_zero_pool`, the
//! same code as on the threads of a real one.
//!
//! | file | what it is about |
//! |---|---|
//! | `topology`, `quantity`, `costs` | its CPUs, and what things cost: each figure with its source, and all for so many workers, as fast to look up as can be |
//! | `machine` | a [`Machine`] of those; the computers with published figures, and the pools of
//! Windows |
//! | `lines` | cache lines: who has a copy, who wants one, who comes next |
//! | `world` | what happens, in which order, also to who loses its CPU, and in memory that many write at the same time |
//! | `computer` | all of that as a pool sees it |
//! | `simulate` | a backlog from begin to end, or a sample of it counted up; pages that arrive all the time, workers that wake up now and then |
//! | `predict` | what would come out if what is not known were a little different, or if the workers began otherwise |
//! | `chain` | workers that only want a lock, as papers on locks have them, and the closed form that all of this is checked against |
//!
//! A worker runs until it asks for something that takes time; then whatever comes
//! first happens. The same machine, pool and seed give the same bytes everywhere.
//!
//! Simplifications. Every worker has a CPU of its own. A load or store is waited for before the
//! next, unless the machine posts its stores. Posted stores are done in order, and the data behind
//! a lock is read while the lock is waited for. Two workers on one core slow each other down only
//! at the memory. All memory is equally far from all. The newest copy of a line is the one that is
//! handed on. A worker that loses its CPU while it zeroes keeps its share of the bandwidth.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod chain;
mod computer;
mod costs;
mod lines;
mod machine;
mod predict;
mod quantity;
mod simulate;
#[cfg(test)]
mod tests;
mod topology;
mod world;

pub use chain::{Contest, ContestLock};
pub use machine::{Class, Machine, Preset, System, classes, presets, systems};
pub use predict::{Active, Prediction, predict};
pub use quantity::{Figure, Quantity, Unit};
pub use simulate::{Bursts, Bursty, CpuSplit, EVERY, Job, PoolResult, simulate};
pub use topology::{Distance, Matrix, Numbering, Topology};
pub use world::Preemption;
