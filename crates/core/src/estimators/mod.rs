//! The learning parts of strategies: one estimator per file.

pub(crate) mod grid;
pub(crate) mod margins;
pub(crate) mod usual;
mod welford;
mod work;

pub use welford::Welford;
pub use work::Work;
