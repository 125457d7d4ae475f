//! What somebody says should come out, and what did.

use serde::{Deserialize, Serialize};

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expectation {
    /// The machine it was checked on.
    pub on: String,
    /// The phase of the experiment.
    pub phase: String,
    /// Whose figure it is.
    pub subject: String,
    /// The figure.
    pub figure: String,
    /// What it should be, in words, with its tolerance and its unit.
    pub expected: String,
    /// What it was, in words, with its unit.
    pub got: String,
    /// Whether that is as it should be.
    pub holds: bool,
    /// Who says so.
    pub source: String,
}
