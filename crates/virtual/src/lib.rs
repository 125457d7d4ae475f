#![doc = include_str!("../README.md")]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

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
#[doc = include_str!("../docs/testing.md")]
struct Documentation;
