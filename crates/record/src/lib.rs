//! The Run file, and the statistics in it.
//!
//! Pure data and arithmetic: nothing here reads a clock or a file. A [`Run`]
//! is what one invocation of punctual saw, as versioned JSON; [`Learned`] what a
//! strategy had learned by its end; [`Late`] sums up lateness samples; [`Interval`] is a median over rounds with the interval
//! that holds it; [`Cost`] puts CPU time and lateness on one scale; [`modes`]
//! finds the few lengths that sleeps on a tick have.

mod cost;
mod expectation;
mod interval;
mod late;
mod learned;
mod modes;
mod run;

pub use cost::{Cost, NAP_PENALTIES_NS, Round, WEIGHTS, Weights};
pub use expectation::Expectation;
pub use interval::Interval;
pub use late::{CAP_NS, Late};
pub use learned::{Estimate, Learned, LearnedCall, LearnedClass, PlannedStep};
pub use modes::{Mode, modes};
pub use run::{Cpu, MachineFacts, Measurement, Run, SCHEMA, Warning};
pub use serde_json::Value;
