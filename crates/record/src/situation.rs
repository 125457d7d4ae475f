//! The facts of a computer that decide which timer rule is in force, as plain data.

use punctual_core::setting::Throttling;
use punctual_core::{Method, Nanos};
use serde::{Deserialize, Serialize};

use crate::disturbance::{CpuQuota, Throttled};

/// The conditions of the waits of this process. `None` where the system does not tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Situation {
    /// The system whose timers are used.
    pub system: System,
    /// The model, if it is simulated: then everything there is to know is
    /// known.
    pub model: Option<String>,
    /// The facts of the computer, or of the rule of a simulated one.
    pub host: HostFacts,
    /// How the thread is scheduled, in the system's words, such as
    /// `SCHED_OTHER, nice 0`.
    pub scheduling: Option<String>,
    /// The system's answer to a thread of this process that asked for a real-time policy: nothing,
    /// or the reason of the refusal. `None` where no thread asked.
    pub real_time: Option<Result<(), String>>,
    /// The quota of CPU time of its control groups that leaves the least.
    pub quota: Option<CpuQuota>,
    /// The line that lifts that quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_file: Option<QuotaFile>,
    /// How that has stopped them since they were made; `None` where nothing is counted.
    pub throttled: Option<Throttled>,
    /// Whether its session competes for the CPUs as one (Linux autogroups), as it is in no control group that does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_autogroup: bool,
    /// The share of the CPUs' time since the start that a hypervisor gave to others.
    pub stolen_fraction: Option<f64>,
    /// Whether the computer runs on its battery.
    pub on_battery: Option<bool>,
    /// The timer interval of Windows.
    pub interval: Option<TimerInterval>,
    /// The interval that this process asks for; `None` if it asks for none.
    pub own_request: Option<Nanos>,
    /// The setting of this process for its requests.
    pub throttling: Option<Throttling>,
    /// Windows' registry value `GlobalTimerResolutionRequests`.
    pub global_requests: Option<bool>,
    /// The clock of all times.
    pub clock: String,
    /// The cost of one reading of the clock.
    pub clock_read: Nanos,
    /// How a spin passes the time.
    pub spin: String,
    /// The OS call behind `sleep`.
    pub sleep: Option<Method>,
    /// The OS call behind `timer`.
    pub timer: Option<Method>,
}

/// The file and value that lift a quota of CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaFile {
    /// The file of its control group. Its path may name a person or a container.
    pub path: String,
    /// The value to write there: `max`, or in version 1 `-1`.
    pub lifted: String,
}

/// A system with timers.
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
    /// Without a request.
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

    /// Whether this Windows can ignore the requests of a process that is neither visible nor
    /// audible.
    pub fn throttles(&self) -> bool {
        matches!(self.windows(), Some("windows-11" | "windows-server-2022"))
    }

    /// The quota, if it can stop this process on the CPUs that it may use.
    pub fn binding_quota(&self) -> Option<CpuQuota> {
        self.quota
            .filter(|quota| quota.can_bind(self.host.logical_cpus))
    }

    /// The scheduler that replaces the kernel's own on Linux: one that sched_ext has loaded, or
    /// one that the name of the kernel's release tells of.
    pub fn foreign_scheduler(&self) -> Option<String> {
        if self.system != System::Linux {
            return None;
        }
        let loaded = (self.host.sched_ext.as_deref()).filter(|state| *state != "disabled");
        let release = self.host.kernel.as_deref();
        match loaded {
            Some(state) => Some(format!("sched_ext ({state})")),
            None => release.and_then(patched).map(str::to_owned),
        }
    }

    /// Whether the thread is under a real-time policy, as far as is known.
    pub fn is_real_time(&self) -> bool {
        let policy = self.scheduling.as_deref().unwrap_or_default();
        REAL_TIME.iter().any(|name| policy.starts_with(name))
    }
}

/// Patched schedulers, and kernels that come with one, as releases name them: `6.12.9-1-liquorix`,
/// `6.10.2-zen1-1-zen`, `6.6.10-tkg-pds`.
const PATCHED: [&str; 12] = [
    "bmq", "bore", "cachyos", "ck", "liquorix", "lqx", "muqss", "pds", "prjc", "tkg", "xanmod",
    "zen",
];

/// The first of them that a release names, whatever number is behind it.
fn patched(release: &str) -> Option<&'static str> {
    let release = release.to_lowercase();
    let mut words = release.split(|c: char| !c.is_ascii_alphanumeric());
    words.find_map(|word| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        PATCHED.into_iter().find(|patched| *patched == name)
    })
}

/// The policies under which Linux gives timers no slack (man page
/// PR_SET_TIMERSLACK).
const REAL_TIME: [&str; 3] = ["SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"];

/// The facts about a computer that bear on waiting, as it tells them; what it does not
/// tell is `None`, and nothing is guessed. Of a simulated one nothing is told here.
///
/// Reports that are shown to strangers have all of it: nothing here names a person, a
/// host or a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostFacts {
    /// The instruction set, as `std::env::consts::ARCH` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// The step of the clock that everything is timed on, as the system states it.
    #[serde(
        rename = "clock_resolution_ns",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub clock_resolution: Option<Nanos>,
    /// The hardware counter behind that clock, in Linux' words (`tsc`, `hpet`, ...).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<String>,
    /// The counters that it could be, as `tsc hpet acpi_pm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_sources: Option<String>,
    /// The longest wake-up latency that programs allow the CPUs now
    /// (`/dev/cpu_dma_latency`, readable for root); 2,000 s is no limit.
    #[serde(rename = "cpu_dma_latency_ns", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub cpu_dma_latency: Option<Nanos>,
    /// The CPU's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_model: Option<String>,
    /// The driver that picks idle states; `none` when the hypervisor does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpuidle_driver: Option<String>,
    /// How long the deepest idle state says it takes to leave.
    #[serde(
        rename = "deepest_idle_exit_ns",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub deepest_idle_exit: Option<Nanos>,
    /// The deepest enabled idle state of the first CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deepest_idle_state: Option<String>,
    /// The frequency governor of the first CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// How long an idle CPU of a virtual machine polls before it halts, where the
    /// driver `haltpoll` picks idle states; zero is not at all.
    #[serde(rename = "halt_poll_ns", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub halt_poll: Option<Nanos>,
    /// The name the hypervisor gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// The kernel's release; of Windows its version, which ends with the build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// CPUs that the process may use, whatever a quota leaves of their time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_cpus: Option<usize>,
    /// The release people know, such as `Debian GNU/Linux 12 (bookworm)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
    /// How a Linux kernel preempts (`PREEMPT_DYNAMIC`, `PREEMPT_RT`, ...).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// In which mode it preempts: `none`, `voluntary`, `lazy`, `full` or `rt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption_mode: Option<String>,
    /// The state of sched_ext, and the scheduler that it has loaded: `disabled`, or
    /// `enabled, rusty`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sched_ext: Option<String>,
    /// The timer slack of the thread.
    #[serde(rename = "slack_ns", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub slack: Option<Nanos>,
    /// The slice of the thread, where the system tells it.
    #[serde(rename = "thread_slice_ns", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub slice: Option<Nanos>,
    /// The scheduler's tick (Linux `CONFIG_HZ`), per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_hz: Option<u32>,
    /// Whether a hypervisor runs this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_machine: Option<bool>,
    /// Wine's version, when this is Wine and not Windows: then the timer rule is that of
    /// the system underneath.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wine: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux(kernel: &str, sched_ext: Option<&str>) -> Option<String> {
        let situation = Situation {
            system: System::Linux,
            host: HostFacts {
                kernel: Some(kernel.to_owned()),
                sched_ext: sched_ext.map(str::to_owned),
                ..HostFacts::default()
            },
            ..Situation::default()
        };
        situation.foreign_scheduler()
    }

    #[test]
    fn kernels_with_another_scheduler_are_known_by_their_names() {
        for (kernel, name) in [
            ("6.12.9-1-liquorix-amd64", Some("liquorix")),
            ("6.12.1-lqx1-1-lqx", Some("lqx")),
            ("6.10.2-zen1-1-zen", Some("zen")),
            ("6.9.1-2-cachyos-bore", Some("cachyos")),
            ("6.11.0-BORE", Some("bore")),
            ("6.8.9-x64v3-xanmod1", Some("xanmod")),
            ("6.6.10-tkg-pds", Some("tkg")),
            ("6.1.0-prjc-r2", Some("prjc")),
            ("5.12.19-muqss", Some("muqss")),
            ("5.12.19-ck1", Some("ck")),
            ("6.1.0-18-amd64", None),
            ("6.12.0-boreas-1", None),
            ("6.8.0-1010-rocky", None),
            ("6.6.87.2-microsoft-standard-WSL2", None),
            ("6.18.44-citizen", None),
        ] {
            assert_eq!(linux(kernel, None).as_deref(), name, "{kernel}");
        }
        assert_eq!(linux("6.12.0", Some("disabled")), None);
        let loaded = linux("6.12.0", Some("enabled, rusty"));
        assert_eq!(loaded.as_deref(), Some("sched_ext (enabled, rusty)"));
    }
}
