//! Experiments as data.
//!
//! A [`Program`] is one thread of an experiment; a [`Machine`] runs programs, for
//! real or in virtual time, and returns [`Observations`]. Nothing here touches an
//! operating system, and nothing here is compiled for who only waits.

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod conformance;
pub mod lengths;
pub mod machine;
pub mod probe;
pub mod program;
mod samples;

pub use lengths::Lengths;
pub use machine::{Machine, Observations};
pub use probe::Probe;
pub use program::{Program, Refusal};
pub use punctual_rules::setting::{self, Setting};
pub use samples::{Sample, Samples};
