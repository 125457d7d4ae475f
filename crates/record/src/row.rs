//! What every product's results have in common.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::compare::Cell;

/// A result in a [`Run`](crate::Run): what is known of one subject in one experiment.
///
/// Each product has rows of its own, for waiting [`Measurement`](crate::Measurement).
/// All that [`compare`](crate::compare) knows of them is what they say here, so Runs
/// of several products can be compared at once, as rows of an enum.
pub trait RunRow: Clone + Debug + PartialEq + Serialize + DeserializeOwned {
    /// What a Run of such rows has beside them.
    type Beside: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned;

    /// Which experiment.
    fn experiment(&self) -> &str;

    /// What was measured.
    fn subject(&self) -> &str;

    /// What stands for the subject where it has another name on each OS.
    fn subject_anywhere(&self) -> &str {
        self.subject()
    }

    /// The parameters that make a difference. Rows with the same experiment, subject
    /// and parameters are of the same thing; those of one Run are rounds of it.
    fn params(&self) -> BTreeMap<String, Value>;

    /// The model it was simulated on, where it says so.
    fn on(&self) -> Option<&str>;

    /// The numbers of rows of the same thing, at least one, all together: each a
    /// [`Metric`](crate::compare::Metric), which has a name, a unit and a better end,
    /// with the interval that follows from its rounds.
    fn cell(rows: &[&Self]) -> Cell;
}
