//! What strategies learn with: one estimator per file.

pub(crate) mod grid;
pub(crate) mod margins;
pub(crate) mod recent;
pub(crate) mod share;
mod welford;

pub use welford::Welford;
