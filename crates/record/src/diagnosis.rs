//! What `punctual doctor` found out about a machine.

use serde::{Deserialize, Serialize};

/// The rule in force, what decides it, and what can be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The timer rule in force for the process, in a few sentences.
    pub rule: String,
    /// The model that made the predictions, as the user could type it; `None`
    /// where nothing is predicted.
    #[serde(default)]
    pub model: Option<String>,
    /// Why nothing is predicted.
    #[serde(default)]
    pub no_prediction: Option<String>,
    /// The CPU that the waits were kept on; `None` if the OS chose.
    #[serde(default)]
    pub cpu: Option<u64>,
    /// The facts that decide the rule.
    pub facts: Vec<Fact>,
    /// Facts that would, and that the OS does not tell.
    pub not_told: Vec<Untold>,
    /// What was measured besides, and what follows from it.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// What can be done, what helps most first.
    pub advice: Vec<Advice>,
}

/// Something the OS tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub value: String,
}

/// Something the OS does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Untold {
    /// What it is called.
    pub name: String,
    /// Why it is not known.
    pub why: String,
}

/// Something that can be done about late waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// What to do.
    pub what: String,
    /// What it is expected to change, from what was just measured.
    pub expected: String,
    /// How much less late a wait of 1 ms is expected to be; `None` where what
    /// was measured does not tell.
    pub gain_ns: Option<u64>,
    /// A line to copy.
    pub line: String,
}
