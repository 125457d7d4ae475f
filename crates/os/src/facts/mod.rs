//! Facts that a reader of a measurement must know about its machine.
//!
//! Everything here is read, nothing guessed: a fact that the system does not provide is `None`.

use crate::{clock, cpuid, slack, thread};
use punctual_core::Nanos;
use punctual_program::machine::IdleState;
use punctual_record::HostFacts;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
mod platform {
    //! sysctl names, see sysctl(3).

    use super::HostFacts;
    use std::ffi::CStr;
    use std::ptr;

    pub(super) fn host() -> HostFacts {
        HostFacts {
            os_version: text(c"kern.osproductversion").map(|version| format!("macOS {version}")),
            kernel: text(c"kern.osrelease"),
            cpu_model: text(c"machdep.cpu.brand_string"),
            virtual_machine: number(c"kern.hv_vmm_present").map(|number| number != 0),
            ..HostFacts::default()
        }
    }

    /// A string; `None` when there is no such name, or it is empty.
    fn text(name: &CStr) -> Option<String> {
        let mut buffer = [0_u8; 256];
        let length = read(name, &mut buffer)?;
        let text = CStr::from_bytes_until_nul(&buffer[..length])
            .ok()?
            .to_str()
            .ok()?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn number(name: &CStr) -> Option<i32> {
        let mut buffer = [0_u8; 4];
        (read(name, &mut buffer)? == buffer.len()).then_some(i32::from_ne_bytes(buffer))
    }

    /// A number that may be of 4 or of 8 bytes, as those of <sys/sysctl.h> are.
    pub fn long_number(name: &CStr) -> Option<u64> {
        let mut buffer = [0_u8; 8];
        match read(name, &mut buffer)? {
            4 => number(name).and_then(|number| u64::try_from(number).ok()),
            8 => Some(u64::from_ne_bytes(buffer)),
            _ => None,
        }
    }

    /// Reads the value into `buffer`, and returns its length.
    fn read(name: &CStr, buffer: &mut [u8]) -> Option<usize> {
        let mut length = buffer.len();
        // SAFETY: the name ends with a zero, the buffer is as long as stated, and
        // the null pointer says that nothing is to be set.
        let answer = unsafe {
            libc::sysctlbyname(
                name.as_ptr(),
                buffer.as_mut_ptr().cast(),
                &mut length,
                ptr::null_mut(),
                0,
            )
        };
        (answer == 0).then_some(length)
    }
}
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
/// A system about which punctual knows nothing special.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows
)))]
mod platform {
    pub(super) fn host() -> super::HostFacts {
        super::HostFacts::default()
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

/// Reads the facts of this machine. Takes up to a few milliseconds.
pub fn facts() -> HostFacts {
    let told = platform::host();
    let hypervisor = cpuid::hypervisor_name().or(told.hypervisor);
    HostFacts {
        arch: Some(std::env::consts::ARCH.to_owned()),
        cpu_model: cpuid::model().or(told.cpu_model),
        logical_cpus: Some(thread::allowed_cpus().len()),
        virtual_machine: cpuid::virtual_machine()
            .or(told.virtual_machine)
            .or_else(|| hypervisor.is_some().then_some(true)),
        hypervisor,
        clock_resolution: Some(clock::resolution()),
        slack: slack::current(),
        slice: thread::slice(),
        ..told
    }
}

/// The kind of each CPU, by its number, where the system tells and they differ.
pub fn core_types() -> Vec<(usize, String)> {
    cfg_select! {
        any(target_os = "linux", target_os = "android", windows) => { platform::core_types() }
        _ => { Vec::new() }
    }
}

/// Whether the registry of Windows says that a timer request counts for every process
/// (`GlobalTimerResolutionRequests`); `None` when it says nothing, which means no on
/// Windows 11 and yes on Server 2022.
pub fn global_timer_requests() -> Option<bool> {
    cfg_select! {
        windows => { platform::global_timer_requests() }
        _ => { None }
    }
}

/// Whether the computer runs on its battery now; `None` where the system does
/// not tell, or has no battery.
pub fn on_battery() -> Option<bool> {
    cfg_select! {
        any(target_os = "linux", target_os = "android", windows) => { platform::on_battery() }
        _ => { None }
    }
}

/// The share of the time of all CPUs since the start that a hypervisor gave to others, as far as it
/// chooses to tell. Linux: `/proc/stat`.
pub fn stolen_fraction() -> Option<f64> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::stolen_fraction() }
        _ => { None }
    }
}

/// Where the time of CPUs went since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimes {
    /// The time they were idle. Threads, interrupts, exits from idle states and the hypervisor
    /// used the rest of the elapsed time. The CPU time of threads leaves out interrupts and exits.
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
/// so it takes seconds until they mean something. Of Windows only `NtQuerySystemInformation` tells them,
/// which Microsoft reserves the right to change ("may be altered or unavailable in future versions
/// of Windows").
pub fn cpu_times(cpus: &[usize]) -> Option<CpuTimes> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::cpu_times(cpus) }
        _ => {
            let _ = cpus;
            None
        }
    }
}

/// How long each of these CPUs was idle since the start, as far as the system tells: as
/// [`cpu_times`], of one reading.
pub fn idle_of_each(cpus: &[usize]) -> Vec<(usize, Nanos)> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::idle_of_each(cpus) }
        _ => {
            let _ = cpus;
            Vec::new()
        }
    }
}

/// Counters of the whole computer since it started. Only the difference of two readings has a
/// meaning.
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
    pub idle_states: Vec<IdleState>,
}

/// Where the time of a CPU went. The hypervisor's part is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuUse {
    /// Its number.
    pub cpu: usize,
    /// It ran threads, or interrupts as far as the kernel counts them apart.
    pub busy: Nanos,
    /// It had nothing to run.
    pub idle: Nanos,
}

/// Reads the counters of the whole computer; `None` where the system has none
/// that anybody may read. Takes up to a millisecond for each CPU.
///
/// # Accuracy
/// Linux: times of CPUs are in steps of 10 ms, those of idle states in
/// microseconds.
pub fn counters() -> Option<Counters> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::counters() }
        _ => { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_there_and_agree() {
        let facts = facts();
        assert!(facts.logical_cpus >= Some(1));
        assert!(facts.arch.is_some() && facts.clock_resolution.is_some());
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
