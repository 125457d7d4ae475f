//! What a reader of a measurement must know about the machine it was made on.
//!
//! Everything here is read, nothing guessed: what this system does not tell is
//! `None`.

use crate::{clock, cpuid, priority, slack, spin, thread};
use punctual_core::Nanos;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux/mod.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows/mod.rs"]
mod platform;
/// A system about which punctual knows nothing special.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows
)))]
mod platform {
    use super::{Counters, CpuTimes, Host};

    pub(super) fn host() -> Host {
        Host::default()
    }

    pub(super) fn counters() -> Option<Counters> {
        None
    }

    pub(super) fn on_battery() -> Option<bool> {
        None
    }

    pub(super) fn cpu_times(_cpus: &[usize]) -> Option<CpuTimes> {
        None
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use platform::busy;
#[cfg(target_os = "macos")]
pub use platform::long_number;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use platform::{cpus, kernel_config, read};
#[cfg(windows)]
pub use platform::{cpus_of, processor_records};

/// The facts about this machine that bear on waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The system, as `std::env::consts::OS` names it: `linux`, `windows`, ...
    pub os: &'static str,
    /// The release people know, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os_version: Option<String>,
    /// The kernel's release, or Windows' build number.
    pub kernel: Option<String>,
    /// How a Linux kernel preempts (`PREEMPT_DYNAMIC`, `PREEMPT_RT`, ...).
    pub preemption: Option<String>,
    /// Which of its modes a kernel of which that can be chosen (`PREEMPT_DYNAMIC`)
    /// preempts in: `none`, `voluntary`, `lazy` or `full`.
    pub preemption_mode: Option<String>,
    /// The instruction set, as `std::env::consts::ARCH` names it.
    pub arch: &'static str,
    /// The CPU's own name.
    pub cpu_model: Option<String>,
    /// CPUs that this process may use, whatever a quota leaves of their time.
    pub logical_cpus: usize,
    /// Whether a hypervisor runs this machine.
    pub virtual_machine: Option<bool>,
    /// The name the hypervisor gives itself.
    pub hypervisor: Option<String>,
    /// Wine's version, when this is Wine and not Windows: then the timer rule
    /// is that of the system underneath.
    pub wine: Option<String>,
    /// The clock that everything is timed on.
    pub clock: &'static str,
    /// The step of that clock, as the system states it.
    pub clock_resolution: Nanos,
    /// The hardware counter behind it, in Linux' words (`tsc`, `hpet`, ...).
    pub clock_source: Option<String>,
    /// The scheduler's tick (Linux `CONFIG_HZ`), per second.
    pub tick_hz: Option<u32>,
    /// The timer slack of the calling thread.
    pub slack: Option<Nanos>,
    /// How the calling thread is scheduled, such as `SCHED_OTHER, nice 0`.
    pub scheduling: Option<String>,
    /// Whether the computer runs on its battery; see [`on_battery`].
    pub on_battery: Option<bool>,
    /// The frequency governor of the first CPU.
    pub governor: Option<String>,
    /// The driver that picks idle states; `none` when the hypervisor does.
    pub cpuidle_driver: Option<String>,
    /// How long an idle CPU of a virtual machine polls before it halts, where the
    /// driver `haltpoll` picks idle states; zero is not at all.
    pub halt_poll: Option<Nanos>,
    /// The deepest enabled idle state of the first CPU.
    pub deepest_idle_state: Option<String>,
    /// How long that state says it takes to leave.
    pub deepest_idle_exit: Option<Nanos>,
    /// The idle states of the first CPU, the shallowest first.
    pub idle_states: Vec<IdleState>,
    /// The kind of each CPU, by its number, where the system tells and they
    /// differ.
    pub core_types: Vec<(usize, String)>,
    /// The longest wake-up latency that programs allow the CPUs now
    /// (`/dev/cpu_dma_latency`, readable for root); 2,000 s is no limit.
    pub cpu_dma_latency: Option<Nanos>,
    /// How spinning waits: `tpause`, `mwaitx`, `wfet` or `pause`.
    pub spin: &'static str,
    /// The build number of Windows, which decides its timer rule; under Wine the
    /// one that it pretends to have.
    pub windows_build: Option<u32>,
    /// Whether the registry of Windows says that a timer request counts for
    /// every process (`GlobalTimerResolutionRequests`); `None` when it says
    /// nothing, which means no on Windows 11 and yes on Server 2022.
    pub global_timer_requests: Option<bool>,
}

/// An idle state of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// How long it says it takes to leave.
    pub exit: Nanos,
    /// How long a CPU should stay for it to pay off.
    pub residency: Nanos,
    /// Whether the system may use it.
    pub enabled: bool,
}

/// Reads the facts of this machine. Takes up to a few milliseconds.
pub fn facts() -> Facts {
    let host = platform::host();
    let hypervisor = cpuid::hypervisor_name().or(host.hypervisor);
    Facts {
        os: std::env::consts::OS,
        os_version: host.os_version,
        kernel: host.kernel,
        preemption: host.preemption,
        preemption_mode: host.preemption_mode,
        arch: std::env::consts::ARCH,
        cpu_model: cpuid::model().or(host.cpu_model),
        logical_cpus: thread::allowed_cpus().len(),
        virtual_machine: cpuid::virtual_machine()
            .or(host.virtual_machine)
            .or_else(|| hypervisor.is_some().then_some(true)),
        hypervisor,
        wine: host.wine,
        clock: clock::name(),
        clock_resolution: clock::resolution(),
        clock_source: host.clock_source,
        tick_hz: host.tick_hz,
        slack: slack::current(),
        scheduling: priority::current(),
        on_battery: on_battery(),
        governor: host.governor,
        cpuidle_driver: host.cpuidle_driver,
        halt_poll: host.halt_poll,
        deepest_idle_state: host.deepest_idle_state,
        deepest_idle_exit: host.deepest_idle_exit,
        idle_states: host.idle_states,
        core_types: host.core_types,
        cpu_dma_latency: host.cpu_dma_latency,
        spin: spin::kind().name(),
        windows_build: host.windows_build,
        global_timer_requests: host.global_timer_requests,
    }
}

/// Whether the computer runs on its battery now; `None` where the system does
/// not tell, or has no battery.
pub fn on_battery() -> Option<bool> {
    platform::on_battery()
}

/// Where the time of CPUs went since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// The time they were idle. What is missing from the time that passed was
    /// used: by threads, by interrupts and the way out of idle states, which
    /// the CPU time of a thread leaves out, and by the hypervisor.
    pub idle: Nanos,
    /// The time the hypervisor ran something else while they had work, as
    /// far as the hypervisor chooses to tell.
    pub stolen: Nanos,
}

/// The times of these CPUs together, both of one reading.
///
/// `None` where the system does not tell, and for a CPU that is not there.
///
/// # Accuracy
/// Linux shows them in steps of 10 ms (`/proc/stat`: idle and iowait, steal),
/// so it takes seconds until they mean something.
pub fn cpu_times(cpus: &[usize]) -> Option<CpuTimes> {
    platform::cpu_times(cpus)
}

/// What the whole computer did since it started. Only the difference of two
/// readings means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Each CPU that is switched on.
    pub cpus: Vec<CpuUse>,
    /// Interrupts of the CPUs' timers, on all CPUs together.
    pub timer_interrupts: Option<u64>,
    /// All interrupts.
    pub interrupts: Option<u64>,
    /// How often a CPU went from one thread to another.
    pub context_switches: Option<u64>,
    /// The idle states, each summed over the CPUs; empty where the hypervisor
    /// picks them.
    pub idle_states: Vec<IdleUse>,
}

/// Where the time of a CPU went. What the hypervisor took is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuUse {
    /// Its number.
    pub cpu: usize,
    /// It ran threads, or interrupts as far as the kernel counts them apart.
    pub busy: Nanos,
    /// It had nothing to run.
    pub idle: Nanos,
}

/// How an idle state was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleUse {
    /// Its name, such as `C6`.
    pub name: String,
    /// How often a CPU went into it.
    pub entered: u64,
    /// How long they were in it.
    pub time: Nanos,
}

/// Reads the counters of the whole computer; `None` where the system has none
/// that anybody may read. Takes up to a millisecond for each CPU.
///
/// # Accuracy
/// Linux: times of CPUs are in steps of 10 ms, those of idle states in
/// microseconds.
pub fn counters() -> Option<Counters> {
    platform::counters()
}

/// What a platform file tells; the rest is the same everywhere.
#[derive(Debug, Default)]
struct Host {
    os_version: Option<String>,
    kernel: Option<String>,
    preemption: Option<String>,
    preemption_mode: Option<String>,
    cpu_model: Option<String>,
    virtual_machine: Option<bool>,
    hypervisor: Option<String>,
    wine: Option<String>,
    clock_source: Option<String>,
    tick_hz: Option<u32>,
    governor: Option<String>,
    cpuidle_driver: Option<String>,
    halt_poll: Option<Nanos>,
    deepest_idle_state: Option<String>,
    deepest_idle_exit: Option<Nanos>,
    idle_states: Vec<IdleState>,
    core_types: Vec<(usize, String)>,
    cpu_dma_latency: Option<Nanos>,
    windows_build: Option<u32>,
    global_timer_requests: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_there_and_agree() {
        let facts = facts();
        assert!(facts.logical_cpus >= 1);
        assert!(!facts.os.is_empty() && !facts.arch.is_empty());
        assert_eq!(facts.clock, clock::name());
        for text in [
            &facts.os_version,
            &facts.kernel,
            &facts.cpu_model,
            &facts.hypervisor,
        ] {
            assert_ne!(text.as_deref().map(str::trim), Some(""));
        }
    }

    #[test]
    fn a_wake_up_latency_that_is_held_is_told() {
        let Ok(_guard) = crate::latency::hold(Nanos::from_us(20)) else {
            return;
        };
        if let Some(limit) = facts().cpu_dma_latency {
            assert!(limit <= Nanos::from_us(20), "{limit}");
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_has_no_times() {
        assert_eq!(cpu_times(&[usize::MAX]), None);
    }
}
