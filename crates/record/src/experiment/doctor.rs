//! Waits beside what the timer rule in force predicts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Parameters;
use crate::findings::Verdict;

/// Waits of one length, and what comes of comparing them with the rule in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Doctor {
    /// The length.
    pub asked_ns: u64,
    /// How late a wait without slack was that takes about as long.
    pub wake_cost_ns: Option<WakeCost>,
    /// How far from the prediction agrees with it.
    pub tolerance_ns: Option<i64>,
    /// Whether it does, where that can be told.
    pub agrees: Option<bool>,
    /// The verdict in a word or two.
    pub verdict: Option<Verdict>,
    /// Why, in a sentence.
    pub agreement: Option<String>,
}

impl Parameters for Doctor {
    fn params(&self) -> Value {
        json!({ "asked_ns": self.asked_ns })
    }
}

/// The cost of a wake-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeCost {
    /// The call without slack.
    pub method: String,
    /// Waits with it.
    pub n: u64,
    /// Their median lateness.
    pub p50: Option<i64>,
    /// The lateness that 75 % do not exceed.
    pub p75: Option<i64>,
    /// The lateness that 90 % do not exceed.
    pub p90: Option<i64>,
}
