//! The facts that decide which timer rule is in force, as plain data.

use punctual_core::setting::Throttling;
use punctual_core::{Method, Nanos};
use serde::{Deserialize, Serialize};

use crate::disturbance::{CpuQuota, Throttled};
use crate::facts::HostFacts;

/// What bears on the waits of this process. What the system does not tell is
/// `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Situation {
    /// Whose timers they are.
    pub system: System,
    /// The model, if it is simulated: then everything there is to know is
    /// known.
    pub model: Option<String>,
    /// What the computer tells, or of a simulated one what its rule has.
    pub host: HostFacts,
    /// How the thread is scheduled, in the system's words, such as
    /// `SCHED_OTHER, nice 0`.
    pub scheduling: Option<String>,
    /// What the system said when a thread of this process asked for a real-time
    /// policy: nothing, or why it is refused. `None` where it was not asked.
    pub real_time: Option<Result<(), String>>,
    /// The quota of CPU time of its control groups that leaves the least.
    pub quota: Option<CpuQuota>,
    /// How that has stopped them since they were made; `None` where nothing is counted.
    pub throttled: Option<Throttled>,
    /// The share of the CPUs' time since the start that a hypervisor gave to others.
    pub stolen_fraction: Option<f64>,
    /// Whether the computer runs on its battery.
    pub on_battery: Option<bool>,
    /// The timer interval of Windows.
    pub interval: Option<TimerInterval>,
    /// The interval that this process asks for; `None` if it asks for none.
    pub own_request: Option<Nanos>,
    /// What this process has said about its requests.
    pub throttling: Option<Throttling>,
    /// Windows' registry value `GlobalTimerResolutionRequests`.
    pub global_requests: Option<bool>,
    /// What everything is timed on.
    pub clock: String,
    /// What one reading of the clock takes.
    pub clock_read: Nanos,
    /// How a spin passes the time.
    pub spin: String,
    /// The OS call behind `sleep`.
    pub sleep: Option<Method>,
    /// The OS call behind `timer`.
    pub timer: Option<Method>,
}

/// Whose timers they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum System {
    /// Linux, also as Android.
    Linux,
    /// Windows itself.
    Windows,
    /// Wine of this version, on whatever system.
    Wine(String),
    /// macOS.
    MacOs,
    /// Another, as `std::env::consts::OS` names it.
    Other(String),
    /// None that is known.
    #[default]
    Unknown,
}

/// The timer interval of Windows, as `NtQueryTimerResolution` states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerInterval {
    /// While nobody asks.
    pub coarsest: Nanos,
    /// The finest that can be had.
    pub finest: Nanos,
    /// Now.
    pub current: Nanos,
}

impl Situation {
    /// The simulator's model of this Windows; `None` where there is none.
    ///
    /// Of clients and servers of one build only 2022 is told apart, by its own
    /// number: later servers share theirs with Windows 11.
    pub fn windows(&self) -> Option<&str> {
        if self.system != System::Windows {
            return None;
        }
        if let Some(model) = &self.model {
            return model.split(',').next();
        }
        Some(match self.build()? {
            7_600..=7_601 => "windows-7",
            9_200..=9_600 => "windows-8",
            10_240..=18_363 => "windows-10-1909",
            19_041..=19_045 => "windows-10-2004",
            20_348 => "windows-server-2022",
            22_000.. => "windows-11",
            _ => return None,
        })
    }

    /// The build number of Windows.
    pub fn build(&self) -> Option<u32> {
        let version = self.host.kernel.as_deref();
        let version = version.filter(|_| self.system == System::Windows)?;
        version.rsplit('.').next()?.parse().ok()
    }

    /// Whether a request of another process does nothing for this one: since
    /// Windows 10 2004, unless a registry value says otherwise.
    pub fn has_classes(&self) -> bool {
        match self.windows() {
            Some("windows-10-2004") => true,
            Some("windows-11") => self.global_requests != Some(true),
            Some("windows-server-2022") => self.global_requests == Some(false),
            _ => false,
        }
    }

    /// Whether this Windows can ignore the requests of a process that nobody
    /// sees or hears.
    pub fn throttles(&self) -> bool {
        matches!(self.windows(), Some("windows-11" | "windows-server-2022"))
    }

    /// Whether the thread is under a real-time policy, as far as is known.
    pub fn is_real_time(&self) -> bool {
        let policy = self.scheduling.as_deref().unwrap_or_default();
        REAL_TIME.iter().any(|name| policy.starts_with(name))
    }
}

/// The policies under which Linux gives timers no slack (man page
/// PR_SET_TIMERSLACK).
const REAL_TIME: [&str; 3] = ["SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"];
