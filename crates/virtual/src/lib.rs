#![doc = include_str!("../README.md")]

mod clock;
mod computer;
mod scope;
mod tasks;
mod turns;

pub use clock::VirtualClock;
pub use computer::Computer;
pub use scope::{JoinHandle, Scope};
pub use turns::Error;

/// Compiles and runs the examples of `docs/testing.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing.md")]
struct Documentation;
