//! The settings of a guard or a program: the priority of a thread, and the treatment of a
//! process's requests.

use std::fmt;

/// How much a thread matters, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Priority {
    /// Only when nothing else wants to run. macOS: Darwin-background; Windows:
    /// idle; Linux: nice 19.
    Background,
    /// Less than ordinary. macOS: QoS utility; Windows: below normal; Linux:
    /// nice 10.
    Utility,
    /// The default of a thread.
    #[default]
    Normal,
    /// The user waits for it. macOS: QoS user-interactive; Windows: above
    /// normal; Linux: nice -10.
    Interactive,
    /// Before everything ordinary. macOS: time-constraint policy; Windows:
    /// time-critical; Linux: `SCHED_FIFO`.
    RealTime,
}

/// The treatment of a process's requests for a timer interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Throttling {
    /// The system decides (control mask without the bit).
    #[default]
    BySystem,
    /// Always honour them (control bit set, state bit clear).
    HonourRequests,
    /// Always ignore them (both bits set).
    IgnoreRequests,
}

impl Priority {
    /// All of them, the least first.
    pub const ALL: [Self; 5] = [
        Self::Background,
        Self::Utility,
        Self::Normal,
        Self::Interactive,
        Self::RealTime,
    ];

    /// The name the user types and reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Utility => "utility",
            Self::Normal => "normal",
            Self::Interactive => "interactive",
            Self::RealTime => "real-time",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
