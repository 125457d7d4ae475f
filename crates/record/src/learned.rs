//! The knowledge of a strategy.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The knowledge of a strategy by the end of its last batch.
///
/// A strategy fills in what it has; the others leave no trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Learned {
    /// Which experiment.
    pub experiment: String,
    /// The subject, as in its measurements.
    pub subject: String,
    /// The time from one deadline to the next, if that is the same in all of them.
    pub period_ns: Option<u64>,
    /// The cost of a nanosecond of lateness, in nanoseconds of CPU time, if the strategy weighs
    /// the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_weight: Option<f64>,
    /// Each OS call it may sleep with, if it chooses and learns by call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<LearnedCall>,
    /// How long a nap takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nap: Option<Estimate>,
    /// How much longer than asked a nap takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Estimate>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The knowledge about an OS call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnedCall {
    /// Its name.
    pub method: String,
    /// How often it was used.
    pub naps: u64,
    /// The distance of the ticks on which its naps end, if they are aimed at
    /// ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid_ns: Option<u64>,
    /// Naps by the time that was left when they began, the shortest first.
    pub classes: Vec<LearnedClass>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The knowledge about naps that begin with about so much time left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnedClass {
    /// At least this much is left.
    pub left_from_ns: u64,
    /// And less than this; the last class has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_below_ns: Option<u64>,
    /// How many there were.
    pub naps: u64,
    /// How much longer than asked they took, to about 6 %. Where that depends
    /// on the length: naps of `left_from_ns`.
    pub over_ns_p50: u64,
    /// See above.
    pub over_ns_p90: u64,
    /// See above.
    pub over_ns_p99: u64,
    /// By which part of the length beyond that a nap takes longer.
    pub over_share_of_length: f64,
    /// The CPU time of one nap.
    pub cpu_ns: u64,
    /// How long before the deadline one should end, if it is not aimed at a
    /// tick.
    pub margin_ns: u64,
    /// The expected cost of the rest of a wait from here on: CPU time + `late_weight` x lateness.
    pub cost_ns: u64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// A mean of everything seen, and what a strategy reckons with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The mean.
    pub mean_ns: u64,
    /// The mean and so many deviations.
    pub bound_ns: u64,
    /// How many standard deviations.
    pub deviations: f64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}
