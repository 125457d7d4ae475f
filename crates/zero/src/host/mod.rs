//! This computer as one that pools run on: its memory, its threads, its atomics.
//!
//! | file | what it is about |
//! |---|---|
//! | `memory` | the pages, what is asked of the system for them, and the list of all |
//! | `computer` | what a pool runs on: every operation is done when it is called |
//! | `team` | workers that go through passes over the pages together, and what they share |
//! | `accounting` | what each of them keeps, and which of it counts |
//! | `cpus` | what they run on |
//! | `barrier` | where they wait for each other, and how all of it ends early |
//! | `cpu_clock` | the CPU time of a worker |

mod accounting;
mod barrier;
mod computer;
mod cpu_clock;
mod cpus;
mod memory;
mod team;

pub(crate) use barrier::{Alone, Barrier, Rescue};
pub use computer::{HostComputer, HostLine, HostMutex};
pub use cpu_clock::CpuClock;
pub(crate) use cpus::Cpus;
pub use memory::{HostMemory, Links};
pub(crate) use team::can_park;
pub use team::{Arrivals, Job, Observed, Team};
