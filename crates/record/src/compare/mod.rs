//! Runs side by side.
//!
//! [`Comparison::of`] finds what several runs have measured of the same thing,
//! with an interval for each number and its ratio to the first run's.
//!
//! - `key` decides what is the same thing;
//! - [`Metric`] is what is compared;
//! - [`Estimate`] is one number of one run with its interval;
//! - `waits` says what of all this a measurement of waits has; other products say it
//!   of their own rows ([`RunRow`](crate::RunRow));
//! - [`Ratio`] sets two of them in relation.

mod comparison;
mod estimate;
mod key;
mod metric;
mod pool;

mod waits;

pub use comparison::{Cell, Column, Comparison, Judgement, Row, RuleOutcome, SCHEMA};
pub use estimate::{Bounds, Estimate, MARGIN, Missing, Ratio, Verdict};
pub use metric::{Metric, Quantity};
