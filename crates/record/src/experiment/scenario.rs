//! The threads and the computer of a scenario, by phase.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Lengths, Parameters, Range, Tail};
use crate::late::Mode;

/// Where in a scenario something was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// The scenario.
    pub scenario: String,
    /// The machine.
    pub on: String,
    /// The phase.
    pub phase: String,
    /// Which it is, counted from 0.
    pub phase_index: u64,
}

impl Parameters for Phase {
    fn params(&self) -> Value {
        json!({ "scenario": self.scenario, "phase": self.phase, "phase_index": self.phase_index })
    }
}

/// The threads of one name in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioThreads {
    /// Where.
    #[serde(flatten)]
    pub at: Phase,
    /// How many there were.
    pub threads: u64,
    /// Their CPU time.
    pub cpu_total_ns: u64,
    /// Sleeps and waits of all of them.
    pub wakes: u64,
    /// The same per second, of each.
    pub wakes_per_s: Option<f64>,
    /// The shares of a CPU of the least and of the busiest, of several.
    pub cpu_fractions: Option<Range<f64>>,
    /// Settings to which the OS answered with an error.
    pub denied: u64,
    /// How long sleeps were.
    pub slept_ns: Option<Lengths>,
    /// The shortest and the longest that was asked for.
    pub asked_ns: Option<Range<u64>>,
    /// The few lengths that sleeps had.
    pub modes: Vec<Mode>,
    /// The times from the end of one wait to the end of the next.
    pub frame_ns: Option<Tail>,
    /// The times from a signal to the end of the wait for it.
    pub since_signal_ns: Option<Tail>,
    /// The readings of the OS, in nanoseconds, by name.
    pub readings: BTreeMap<String, Reading>,
    /// The sleeps and waits that ended in this phase and began in an earlier one. They are
    /// wakes of this phase, and in none of its lengths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub began_before: Vec<BeganBefore>,
    /// The length that each of `samples_slept_ns` asked for. Empty where no event ended any:
    /// there it is what was slept, less the lateness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_asked_ns: Vec<u64>,
}

impl Parameters for ScenarioThreads {
    fn params(&self) -> Value {
        self.at.params()
    }
}

/// A sleep or wait during which a phase began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BeganBefore {
    /// The length that was asked for.
    pub asked_ns: u64,
    /// The length from the call to the end.
    pub slept_ns: u64,
    /// When it ended, counted from the beginning of the experiment.
    pub woke_ns: u64,
}

/// A value that was read several times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reading {
    /// The mean.
    pub mean: f64,
    /// How often.
    pub n: u64,
    /// The few values it had.
    pub modes: Vec<Mode>,
    /// Each by itself.
    pub samples: Vec<u64>,
}

/// The computer in one phase; `None` where the machine does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioComputer {
    /// Where.
    #[serde(flatten)]
    pub at: Phase,
    /// How many CPUs it has.
    pub cpus: u64,
    /// Timer interrupts and clock ticks of all CPUs.
    pub interrupts_per_s: Option<f64>,
    /// How often a CPU went from one thread to another, or to rest and back.
    pub switches_per_s: Option<f64>,
    /// How often an idle CPU was woken.
    pub wakeups_per_s: Option<f64>,
    /// The share of the time of all CPUs in which a thread ran.
    pub busy: Option<f64>,
    /// The share of the idle time in stretches of 8 ms or more.
    pub good_idle: Option<f64>,
    /// The stretches in which CPUs were idle, by their length.
    pub idle_stretches: Option<Vec<IdleStretch>>,
    /// The idle states.
    pub idle_states: Vec<IdleState>,
    /// The power of all cores, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// The timer interval at the end of the phase.
    pub interval_ns: Option<u64>,
}

impl Parameters for ScenarioComputer {
    fn params(&self) -> Value {
        self.at.params()
    }
}

/// Idle stretches of about one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleStretch {
    /// They are so long, and less than twice.
    pub at_least_ns: u64,
    /// How many there were.
    pub count: u64,
    /// How long they were together.
    pub total_ns: u64,
}

/// An idle state of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// How often it was entered.
    pub entered: u64,
    /// Its share of the idle time.
    pub share: Option<f64>,
}
