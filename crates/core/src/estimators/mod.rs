//! What strategies learn with: one estimator per file.

pub(crate) mod grid;
pub(crate) mod margins;

pub(crate) mod share;
pub(crate) mod usual;
mod welford;

pub use welford::Welford;
