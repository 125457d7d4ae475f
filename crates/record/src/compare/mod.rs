//! Runs side by side.
//!
//! [`Comparison::of`] finds what several runs have measured of the same thing,
//! with an interval for each number and its ratio to the first run's.
//!
//! - [`Metric`] is what is compared;
//! - [`Estimate`] is one number of one run with its interval;
//! - [`RunRow`] is what every product says of its own rows, those of waits in `pool`;
//! - [`Ratio`] sets two of them in relation.

mod comparison;
mod estimate;
mod metric;
mod pool;
pub use comparison::{Cell, Column, Comparison, Judgement, Row, RuleOutcome, SCHEMA};
pub use estimate::{Bounds, Estimate, MARGIN, Missing, Ratio, Verdict};
pub use metric::{Metric, Quantity};

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A result in a [`Run`](crate::Run): what is known of one subject in one experiment.
///
/// Each product has rows of its own, for waiting [`Measurement`](crate::Measurement).
/// [`compare`](self) knows only this trait of them, so Runs of several products can be compared at
/// once, as rows of an enum.
pub trait RunRow: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// The parts of a Run of such rows beside the rows.
    type Beside: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned;

    /// Which experiment.
    fn experiment(&self) -> &str;

    /// The subject of the measurement.
    fn subject(&self) -> &str;

    /// The name for the subject where it has another name on each OS.
    fn subject_anywhere(&self) -> &str {
        self.subject()
    }

    /// The parameters that make a difference. Rows with the same experiment, subject
    /// and parameters are of the same thing; those of one Run are rounds of it.
    fn params(&self) -> BTreeMap<String, Value>;

    /// Whether this row is of the same thing as one of another experiment, as a log can be.
    fn stands_beside(&self, other: &Self) -> bool {
        let _ = other;
        false
    }

    /// The model it was simulated on, where it says so.
    fn on(&self) -> Option<&str>;

    /// The numbers of one or more rows of the same thing, all together. Each is a [`Metric`],
    /// which has a name, a unit and a better end, with the interval of its rounds.
    fn cell(rows: &[&Self]) -> Cell;
}
