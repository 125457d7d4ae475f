//! This computer as one that pools run on: its memory, its threads, its atomics.
//!
//! | file | what it is about |
//! |---|---|
//! | `computer` | the pages and the list of all, and what a pool does with them: every operation is done when it is called |
//! | `team` | workers that go through passes over the pages together, and what they share |
//! | `accounting` | what each of them keeps, and which of it counts |
//! | `cpus` | what they run on, and their CPU time |
//! | `barrier` | where they wait for each other, and how all of it ends early |

mod accounting;
mod barrier;
mod computer;
mod cpus;
mod team;

pub(crate) use barrier::{Alone, Barrier, Rescue};
pub use computer::{HostComputer, HostLine, HostMemory, HostMutex, Links};
pub use cpus::CpuClock;
pub(crate) use cpus::Cpus;
pub(crate) use team::can_park;
pub use team::{Arrivals, Bursts, Job, Observed, Team};
