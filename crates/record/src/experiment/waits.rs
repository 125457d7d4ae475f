//! Waits: at a rate, by length, by call, under load.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Parameters, WARM_UP};

/// Waits at a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pace {
    /// The time from one deadline to the next.
    pub period_ns: u64,
    /// The waits per second.
    pub rate_hz: f64,
    /// The start from which deadlines are counted.
    pub deadlines: Deadlines,
    /// Waits of each batch before those that count.
    pub warm_up_waits: u64,
    /// How batches after the first begin.
    pub learning: Learning,
    /// The times from one wake to the next; of several threads those of the first.
    pub frames: Option<Frames>,
    /// The threads that waited at this rate, if more than one; all were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crowd: Option<Crowd>,
}

impl Parameters for Pace {
    fn params(&self) -> Value {
        let mut params = json!({
            "period_ns": self.period_ns, "rate_hz": self.rate_hz, "deadlines": self.deadlines,
            "learning": self.learning,
        });
        // Where a waiter lives as long as the rounds, it warms up once, as their number says.
        if self.learning == Learning::StartsOver {
            params[WARM_UP] = json!(self.warm_up_waits);
        }
        if let Some(Crowd { threads, same }) = self.crowd {
            params["threads"] = json!(threads);
            params["instants"] = json!(if same { "same" } else { "spread" });
        }
        params
    }
}

/// Threads of one process that wait at the same rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crowd {
    /// How many.
    pub threads: u32,
    /// Whether all wait for the same instants. Otherwise their instants are spread over the
    /// period.
    pub same: bool,
}

/// The start from which deadlines are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Deadlines {
    /// The beginning: they are the cycles of the rate.
    Absolute,
    /// The end of the wait before: the article's frames.
    Relative,
}

/// How a batch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Learning {
    /// With what the subject has learned in those before, as older versions measured. Their
    /// rounds are of one waiter, so their intervals do not tell what another one costs.
    #[serde(rename = "keeps state")]
    KeepsState,
    /// With a fresh waiter, so that the rounds are independent.
    #[serde(rename = "starts over")]
    StartsOver,
}

/// The times from one wake to the next, as a player of a game sees them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The mean distance from the period.
    pub mean_abs_error_ns: f64,
}

/// Requests of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decades {
    /// The length.
    pub asked_ns: u64,
}

impl Parameters for Decades {}

/// Waits at one interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalLength {
    /// The time from one deadline to the next.
    pub period_ns: u64,
    /// The times from one wake to the next.
    pub frames: Option<Frames>,
}

impl Parameters for IntervalLength {
    fn params(&self) -> Value {
        json!({ "period_ns": self.period_ns })
    }
}

/// Naps of one length with one OS call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Naps {
    /// The call.
    pub method: String,
    /// The length.
    pub asked_ns: u64,
}

impl Parameters for Naps {}

/// Requests of one length under a scheduler that steals time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Robustness {
    /// The length.
    pub asked_ns: u64,
    /// The period of the scheduler.
    pub scheduler_period_ns: u64,
    /// The mean distance from the deadline, over the length; `None` if no wait ended.
    pub relative_error: Option<f64>,
}

impl Parameters for Robustness {
    fn params(&self) -> Value {
        json!({ "asked_ns": self.asked_ns, "scheduler_period_ns": self.scheduler_period_ns })
    }
}

/// Waits in a regime under a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Regimes {
    /// The waits.
    pub regime: String,
    /// The other load.
    pub condition: String,
}

impl Parameters for Regimes {}

/// Further findings about the subject of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegimeBatch {
    /// The median lateness on the caller's clock.
    pub late_ns_p50: i64,
    /// The same as the waiter itself reported it; peers report none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_late_ns_p50: Option<i64>,
    /// The seconds in which it was trapped; `None` where that was not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trapped_s: Option<u32>,
    /// The number of waits after the end of the load until waits were normal again; `None` where
    /// that was not measured, or never happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_after_waits: Option<u32>,
    /// Whether that was looked for.
    #[serde(default)]
    pub load_ended: bool,
}

/// Waits of one length with one call of the OS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sleep {
    /// The call.
    pub method: String,
    /// The length.
    pub asked_ns: u64,
}

impl Parameters for Sleep {}

/// Yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Yield {
    /// How many threads compute on the same CPU.
    pub competitors: u64,
}

impl Parameters for Yield {}

/// Waits beside threads that compute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// The length.
    pub asked_ns: u64,
    /// Threads that compute, for each CPU.
    pub load_per_cpu: f64,
    /// The priority of who waits.
    pub priority: String,
}

impl Parameters for Load {}

/// Waits on one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cores {
    /// The number of the CPU.
    pub on_cpu: u64,
    /// The length.
    pub asked_ns: u64,
    /// The kind of core, where the OS tells kinds apart.
    pub core_type: Option<String>,
}

impl Parameters for Cores {
    fn params(&self) -> Value {
        // The type of a core is a property of the machine.
        json!({ "cpu": self.on_cpu, "asked_ns": self.asked_ns })
    }
}

/// Waits after a rest of their own length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gap {
    /// The call.
    pub method: String,
    /// The length.
    pub asked_ns: u64,
}

impl Parameters for Gap {}
