//! Which timer rule made a log of waits.

use serde::{Deserialize, Serialize};

/// The answer of `punctual identify`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// The outcome.
    pub outcome: IdentityOutcome,
    /// The rule, such as `Windows, clock interrupt every 15.625 ms`, where one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why: at most three sentences.
    pub evidence: Vec<String>,
    /// The further data that would decide, in a sentence.
    pub further: String,
    /// The lateness that the rule, or else the one that comes closest, predicts for these waits, with the
    /// fitted cost of waking up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicted_late_ns: Vec<i64>,
    /// The rules that come closest, the best first.
    pub candidates: Vec<IdentityCandidate>,
}

/// The possible outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum IdentityOutcome {
    /// A rule is named.
    Named,
    /// None of the rules fits.
    NoneFits,
    /// Several fit, or the log has too little.
    #[default]
    CannotTell,
}

/// A rule beside what was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdentityCandidate {
    /// The rule.
    pub rule: String,
    /// The models that predict it.
    pub models: Vec<String>,
    /// How much worse than a description without any rule it fits: nats per wait. Less is better, and
    /// what is below zero is better than that description.
    pub misfit_nats: f64,
}
