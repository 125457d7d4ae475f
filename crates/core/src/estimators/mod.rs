//! What strategies learn with: one estimator per file.

pub(crate) mod grid;
pub(crate) mod overshoot;
pub(crate) mod share;
mod welford;

pub use welford::Welford;
