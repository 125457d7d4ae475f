//! What strategies learn with: one estimator per file.

mod welford;

pub use welford::Welford;
