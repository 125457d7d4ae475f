//! What a reader of a measurement must know about the machine it was made on.
//!
//! Everything here is read, nothing guessed: what this system does not tell is
//! `None`.

use crate::{clock, cpuid, slack, spin};
use punctual_core::Nanos;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows
)))]
#[path = "fallback.rs"]
mod platform;

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
    /// The instruction set, as `std::env::consts::ARCH` names it.
    pub arch: &'static str,
    /// The CPU's own name.
    pub cpu_model: Option<String>,
    /// CPUs that this process may use.
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
    /// The frequency governor of the first CPU.
    pub governor: Option<String>,
    /// The driver that picks idle states; `none` when the hypervisor does.
    pub cpuidle_driver: Option<String>,
    /// The deepest enabled idle state of the first CPU.
    pub deepest_idle_state: Option<String>,
    /// How long that state says it takes to leave.
    pub deepest_idle_exit: Option<Nanos>,
    /// The longest wake-up latency that programs allow the CPUs now
    /// (`/dev/cpu_dma_latency`, readable for root); 2,000 s is no limit.
    pub cpu_dma_latency: Option<Nanos>,
    /// How spinning waits: `tpause`, `mwaitx`, `wfet` or `pause`.
    pub spin: &'static str,
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
        arch: std::env::consts::ARCH,
        cpu_model: cpuid::model().or(host.cpu_model),
        logical_cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
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
        governor: host.governor,
        cpuidle_driver: host.cpuidle_driver,
        deepest_idle_state: host.deepest_idle_state,
        deepest_idle_exit: host.deepest_idle_exit,
        cpu_dma_latency: host.cpu_dma_latency,
        spin: spin::kind().name(),
    }
}

/// Where the time of one CPU went since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// The time it was idle. What is missing from the time that passed was
    /// used: by threads, by interrupts and the way out of idle states, which
    /// the CPU time of a thread leaves out, and by the hypervisor.
    pub idle: Nanos,
    /// The time the hypervisor ran something else while this CPU had work, as
    /// far as the hypervisor chooses to tell.
    pub stolen: Nanos,
}

/// The times of CPU number `cpu`, both of one reading.
///
/// `None` where the system does not tell, and for a CPU that is not there.
///
/// # Accuracy
/// Linux shows them in steps of 10 ms (`/proc/stat`: idle and iowait, steal),
/// so it takes seconds until they mean something.
pub fn cpu_times(cpu: usize) -> Option<CpuTimes> {
    platform::cpu_times(cpu)
}

/// What a platform file tells; the rest is the same everywhere.
#[derive(Debug, Default)]
struct Host {
    os_version: Option<String>,
    kernel: Option<String>,
    preemption: Option<String>,
    cpu_model: Option<String>,
    virtual_machine: Option<bool>,
    hypervisor: Option<String>,
    wine: Option<String>,
    clock_source: Option<String>,
    tick_hz: Option<u32>,
    governor: Option<String>,
    cpuidle_driver: Option<String>,
    deepest_idle_state: Option<String>,
    deepest_idle_exit: Option<Nanos>,
    cpu_dma_latency: Option<Nanos>,
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
    fn a_cpu_that_is_not_there_has_no_times() {
        assert_eq!(cpu_times(usize::MAX), None);
    }
}
