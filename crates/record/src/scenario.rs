//! The scenario and the models of a Run.

use serde::{Deserialize, Serialize};

/// A scenario that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ScenarioFacts {
    /// The question of the scenario; empty if its file has none.
    pub about: String,
    /// How long it lasts.
    pub length_ns: u64,
    /// The name of its file.
    pub name: String,
    /// Its timeline.
    pub phases: Vec<PhaseFacts>,
    /// Where it comes from.
    pub source: Option<String>,
    /// One line.
    pub title: String,
}

/// A phase of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PhaseFacts {
    /// How long it lasts.
    pub length_ns: u64,
    /// The name.
    pub name: String,
}

/// A model that a scenario was run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ModelFacts {
    /// Its name, with the parameters that were set.
    pub name: String,
    /// All parameters.
    pub parameters: Vec<ParameterFacts>,
    /// Its timer rule, in words.
    pub rule: String,
}

/// A parameter of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ParameterFacts {
    /// How sure the default is, from A, which a vendor documents, to D, a guess.
    pub confidence: String,
    /// The default value.
    pub default: String,
    /// Whether that is its value.
    pub is_default: bool,
    /// The name.
    pub key: String,
    /// Where the default comes from.
    pub source: String,
    /// The value in the run.
    pub value: String,
}
