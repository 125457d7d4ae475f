//! The watch of a host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Parameters;
use crate::disturbance::CpuQuota;

/// The findings of a watch of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    /// The time from one deadline to the next.
    pub period_ns: u64,
    /// From which lateness on a wait is a hiccup.
    pub threshold_ns: u64,
    /// The CPU that was watched, if it was one.
    pub on_cpu: Option<u64>,
    /// From which lateness on the watch fails.
    pub fail_over_ns: Option<u64>,
    /// Whether it did, by that or a rule of the user.
    pub failed: Option<bool>,
    /// How long it lasted.
    pub elapsed_ns: u64,
    /// The lateness of all deadlines: the upper end of each bin, and how many lie in it.
    pub histogram_late_ns: Vec<(u64, u64)>,
    /// The hiccups, the first of too many.
    pub hiccups: Vec<Hiccup>,
    /// How many there were by cause; beside them, waits in which punctual itself was stopped.
    pub hiccups_by_cause: BTreeMap<String, u64>,
    /// How many there were, without those in which punctual itself was stopped.
    pub hiccups_in_all: u64,
    /// Deadlines of which nothing is known, as they were not collected in time.
    pub lost_waits: u64,
    /// Deadlines that were waited for. The others of `late_ns` and of the histogram were missed, and
    /// each is as late as it was when it was given up. Files of older versions do not have it: their
    /// lateness leaves out missed deadlines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<u64>,
}

impl Parameters for Watch {
    fn params(&self) -> Value {
        // The limits change no wait, and its CPU is one of however many the machine has.
        json!({ "period_ns": self.period_ns })
    }
}

/// A wait that was later than the threshold; `None` is what the OS does not count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hiccup {
    /// When it ended.
    pub at: String,
    /// The same, counted from the beginning of the watch.
    pub at_ns: u64,
    /// How late.
    pub late_ns: u64,
    /// The time it could run but waited for a CPU.
    pub queued_ns: Option<u64>,
    /// The time the hypervisor gave its CPU to another guest.
    pub stolen_ns: Option<u64>,
    /// The time within which that was counted.
    pub stolen_within_ns: Option<u64>,
    /// The time a quota stopped it.
    pub throttled_ns: Option<u64>,
    /// That quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<CpuQuota>,
    /// The processes that had the CPU meanwhile, the longest first.
    #[serde(default)]
    pub others: Vec<RanMeanwhile>,
    /// How often it had to leave its CPU.
    pub involuntary: Option<u64>,
    /// How often it left it.
    pub voluntary: Option<u64>,
    /// Page faults that needed no disk.
    pub minor_faults: Option<u64>,
    /// Page faults that did.
    pub major_faults: Option<u64>,
    /// Why.
    pub cause: Cause,
    /// All of it in a sentence.
    pub in_words: String,
}

/// Why a wait was too late, as far as a counter shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A stop of punctual itself, as by Ctrl-Z: it does not concern the system, and counts in no
    /// lateness.
    OwnStop,
    /// The quota of its control group was used up.
    Throttled,
    /// The thread could run and waited for its CPU, which did something else.
    Queued,
    /// The hypervisor ran something else on the CPU.
    Stolen,
    /// No counter covers it.
    #[default]
    Unknown,
}

impl Cause {
    /// Every cause, in the order in which they are listed.
    pub const ALL: [Self; 5] = [
        Self::OwnStop,
        Self::Throttled,
        Self::Queued,
        Self::Stolen,
        Self::Unknown,
    ];

    /// Its name in labels; files have the same.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OwnStop => "own_stop",
            Self::Throttled => "throttled",
            Self::Queued => "queued",
            Self::Stolen => "stolen",
            Self::Unknown => "unknown",
        }
    }
}

/// Another program that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RanMeanwhile {
    /// Its name.
    pub name: String,
    /// Its number.
    pub pid: u64,
    /// For how long.
    pub ran_ns: u64,
}
