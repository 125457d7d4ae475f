use punctual_core::Nanos;

use super::NoHz;
use crate::description::Values;

/// How a Linux kernel is configured and booted, as far as its timers depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The timer slack of the first thread.
    pub slack: Nanos,
    /// Whether a real-time thread keeps its slack, and calls make an exception of it (before Linux 6.12).
    pub keeps_slack: bool,
    /// Ticks a second, from 1 to 10000.
    pub hz: u64,
    /// Which CPUs go without a periodic tick.
    pub nohz: NoHz,
    /// Whether timers are not limited to ticks.
    pub is_high_resolution: bool,
    /// Whether threads can have slices of their own.
    pub has_slices: bool,
    /// Whether timers of CPUs without ticks expire on the one that keeps time.
    pub migrates: bool,
}

impl Options {
    pub(crate) fn read(values: &Values<'_>) -> Result<Self, String> {
        let nohz = [
            ("idle", NoHz::Idle),
            ("after-tick", NoHz::AfterTick),
            ("periodic", NoHz::Periodic),
            ("full", NoHz::Full),
        ];
        Ok(Self {
            slack: values.length("slack")?,
            keeps_slack: values.is("rt_slack", ["none", "kept"])?,
            hz: values.count("hz", 1..=10_000)?,
            nohz: values.choice("nohz", &nohz)?,
            is_high_resolution: values.is("highres", ["off", "on"])?,
            has_slices: values.is("slices", ["common", "own"])?,
            migrates: values.is("timer_migration", ["off", "on"])?,
        })
    }
}
