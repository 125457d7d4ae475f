//! Zeroing pages: what a pool of workers costs here, what this OS takes for
//! fresh memory, the same pool on simulated computers, and what to do about it.

pub mod advice;
pub mod article;
pub mod calibration;
pub mod host;
pub mod model;
pub mod probe;
pub mod published;
mod report;
pub mod rows;
pub mod run;
pub mod simulation;
pub mod validation;

pub use report::{COMPARED, computers};
pub use simulation::Grid;
