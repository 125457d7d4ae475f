//! A change of a program, tried in rounds.

use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// A change of a program, in rounds that alternate with rounds without it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// The change, such as `slack=1ns`.
    pub change: String,
    /// The source of the lateness on both sides: `perf`, or `library` where the program loads a library that measures its
    /// waits.
    pub source: String,
    /// The waits, those that were late for the longest time in all first.
    pub waits: Vec<TriedWaits>,
}

/// Waits that are alike, without the change and with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedWaits {
    /// The waits in words: a thread, its call and the length, or a class of waits of all threads.
    pub waits: String,
    /// The median lateness that was predicted for the change, from the rounds without it or from the rule of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_ns_p50: Option<Interval>,
    /// Each round without the change.
    pub before: Vec<TriedRound>,
    /// Each round with the change.
    pub after: Vec<TriedRound>,
}

/// The waits of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TriedRound {
    /// How many ended because their time was over.
    pub n: u64,
    /// The median of their lateness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns_p50: Option<f64>,
    /// 99 % were at most so late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_ns_p99: Option<f64>,
}

impl TriedRound {
    /// The median of a figure of rounds with the interval that holds it; `None` if no round has it.
    pub fn over(rounds: &[Self], figure: impl Fn(&Self) -> Option<f64>) -> Option<Interval> {
        let values: Vec<f64> = rounds.iter().filter_map(figure).collect();
        Interval::of(&values)
    }
}

impl TriedWaits {
    /// The median lateness without the change and with it, if both are known.
    pub fn late_ns_p50(&self) -> Option<[Interval; 2]> {
        let p50 = |rounds| TriedRound::over(rounds, |round| round.late_ns_p50);
        Some([p50(&self.before)?, p50(&self.after)?])
    }

    /// How many waits all rounds have together, without the change and with it.
    pub fn n(&self) -> [u64; 2] {
        let n = |rounds: &[TriedRound]| rounds.iter().map(|round| round.n).sum();
        [n(&self.before), n(&self.after)]
    }
}
