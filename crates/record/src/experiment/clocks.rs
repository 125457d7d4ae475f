//! Clocks, and the lengths of short sleeps.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Lengths, Parameters};
use crate::late::Mode;

/// The properties of one clock of the OS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocks {
    /// The resolution that the OS states.
    pub stated_ns: Option<u64>,
    /// By how much it moves on at once.
    pub step_ns: Option<Lengths>,
    /// Whether it shows the time of the last tick.
    pub tick_written: Option<bool>,
    /// The length of one tick, for a clock that ticks write.
    pub tick_ns: Option<u64>,
    /// How many of its steps were of several ticks.
    pub longer_steps: Option<u64>,
    /// The cost of one reading.
    pub read_cost_ns: Option<Lengths>,
}

impl Parameters for Clocks {
    fn params(&self) -> Value {
        json!({})
    }
}

/// When a sleep begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Arming {
    /// As soon as the one before it has ended.
    #[default]
    AfterWake,
    /// After work of a random length.
    RandomPhase,
}

impl Arming {
    /// Its name in a Run.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfterWake => "after-wake",
            Self::RandomPhase => "random-phase",
        }
    }
}

/// Sleeps of one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timers {
    /// The length asked for.
    pub asked_ns: u64,
    /// When a sleep begins.
    pub arming: Arming,
    /// Which round, counted from 0.
    pub round: u32,
    /// The timer interval that the OS says is in force.
    pub stated_ns: Option<u64>,
    /// The timer slack of the thread.
    pub slack_ns: Option<u64>,
    /// The clock that the tick writes.
    pub step_clock: Option<String>,
    /// The median of its steps.
    pub step_ns: Option<u64>,
    /// How long the first sleep was, which does not count.
    pub first_slept_ns: Option<u64>,
    /// How long the others were.
    pub slept_ns: Option<Lengths>,
    /// The few lengths that they had.
    pub modes: Vec<Mode>,
}

impl Parameters for Timers {
    fn params(&self) -> Value {
        json!({ "asked_ns": self.asked_ns, "arming": self.arming })
    }
}
