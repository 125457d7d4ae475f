//! What a computer tells of itself.

use punctual_core::Nanos;
use serde::{Deserialize, Serialize};

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
