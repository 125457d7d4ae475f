//! Readings that a thread can take of its OS besides the clock it waits on.

use std::fmt;

pub use punctual_rules::OsClock;
use serde::{Deserialize, Serialize};

/// Something to read, once. Each gives a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Probe {
    /// The timer interval that the OS says is in force. Windows:
    /// `NtQueryTimerResolution`.
    Resolution,
    /// The timer slack of the thread. Linux: `prctl(PR_GET_TIMERSLACK)`.
    Slack,
    /// By how much a clock moves on at once, as it shows. The thread reads that
    /// clock over and over until it has moved twice.
    Step(OsClock),
    /// The resolution that the OS states for a clock. Unix: `clock_getres`.
    Stated(OsClock),
    /// The cost of reading a clock: the mean of many readings in a row.
    Cost(OsClock),
}

impl Probe {
    /// The probes that a scenario can ask for.
    pub const IN_SCENARIOS: [Self; 5] = [
        Self::Resolution,
        Self::Slack,
        Self::Step(OsClock::TimeGetTime),
        Self::Step(OsClock::GetTickCount),
        Self::Step(OsClock::MonotonicCoarse),
    ];

    /// The name the user types and reads: for a clock, that of the clock.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolution => "resolution",
            Self::Slack => "slack",
            Self::Step(clock) | Self::Stated(clock) | Self::Cost(clock) => clock.name(),
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
