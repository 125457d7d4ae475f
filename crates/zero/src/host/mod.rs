//! This computer as one that pools run on: its memory, its threads, its atomics.
//!
//! | file | what it is about |
//! |---|---|
//! | `memory` | the pages, and what is asked of the system for them |
//! | `computer` | what a pool runs on: every operation is done when it is called |
//! | `line`, `mutex` | a cache line of its own; the lock that blocks |
//! | `links` | the linked list of all pages, in the order of nobody knows what |
//! | `team`, `shared` | workers that go through passes over the pages together; what they share |
//! | `worker`, `books` | one of them; what it keeps, and which of it counts |
//! | `cpus` | what they run on |
//! | `barrier` | where they wait for each other |
//! | `alone` | what shares a cache line with nothing else |
//! | `cpu_clock` | the CPU time of a worker |
//! | `hurry` | the end of what is under way, before its end |

mod alone;
mod barrier;
mod books;
mod computer;
mod cpu_clock;
mod cpus;
mod hurry;
mod line;
mod links;
mod memory;
mod mutex;
mod shared;
mod team;
mod worker;

pub(crate) use alone::Alone;
pub(crate) use barrier::{Barrier, Rescue};
pub use computer::HostComputer;
pub use cpu_clock::CpuClock;
pub(crate) use cpus::Cpus;
pub use line::HostLine;
pub use links::Links;
pub use memory::HostMemory;
pub use mutex::HostMutex;
pub(crate) use team::can_park;
pub use team::{Arrivals, Job, Observed, Team};
