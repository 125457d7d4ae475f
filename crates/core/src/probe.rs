//! What a thread can read of its OS besides the clock it waits on.

use std::fmt;

/// Something to read, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// The timer interval that the OS says is in force. Windows:
    /// `NtQueryTimerResolution`.
    Resolution,
    /// By how much a clock that the tick writes moves on at once. The thread
    /// reads that clock over and over until it has moved twice.
    Step(TickClock),
}

/// A clock that shows the time of the last tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TickClock {
    /// Windows: `timeGetTime`, in whole milliseconds.
    TimeGetTime,
    /// Windows: `GetTickCount64`, in whole milliseconds.
    GetTickCount,
    /// Linux: `CLOCK_MONOTONIC_COARSE`.
    MonotonicCoarse,
}

impl Probe {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Resolution,
        Self::Step(TickClock::TimeGetTime),
        Self::Step(TickClock::GetTickCount),
        Self::Step(TickClock::MonotonicCoarse),
    ];

    /// The name the user types and reads: for a step, that of the clock.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolution => "resolution",
            Self::Step(TickClock::TimeGetTime) => "timeGetTime",
            Self::Step(TickClock::GetTickCount) => "GetTickCount",
            Self::Step(TickClock::MonotonicCoarse) => "CLOCK_MONOTONIC_COARSE",
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
