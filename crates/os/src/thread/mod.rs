//! Facts about the calling thread: the CPU time it used, where it may run, and
//! how often it left its CPU.

use crate::Error;
use punctual_core::Nanos;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
mod platform {
    use super::Error;

    /// macOS has no call for it, and those of the BSDs are not wrapped.
    pub(super) fn pin(cpu: usize) -> Result<(), Error> {
        Err(Error::unsupported(format!(
            "pinning to CPU {cpu}: punctual has no call for it on this system, so leave it out"
        )))
    }

    pub(super) fn allowed_cpus() -> Vec<usize> {
        super::counted_cpus()
    }
}

pub use punctual_sys::thread::exact_cpu_time;

/// CPU time of a thread since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    /// Nanoseconds of CPU time; only differences within one thread mean
    /// something.
    pub ns: u64,
    /// Whether it was derived from cycles or from ticks, so that a difference
    /// may be wrong by more than a few microseconds.
    pub approximate: bool,
}

/// How often a thread left its CPU since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Because it blocked.
    pub voluntary: u64,
    /// Because something else was given the CPU while it could have gone on. A
    /// yield that lets another thread run counts here too (Linux:
    /// `kernel/sched/core.c`, `__schedule` counts `nivcsw` unless the task
    /// blocks).
    pub involuntary: u64,
}

/// The CPU time that the calling thread has used; `None` where the system
/// counts none, and then [`cpu_time_source`] says why.
///
/// # Accuracy
/// Interrupts and the way out of an idle state are mostly not charged to the
/// thread, so naps look cheaper than they are.
///
/// # Platform notes
/// Unix: `CLOCK_THREAD_CPUTIME_ID`, exact. Windows: `QueryThreadCycleTime` divided by a cycle rate
/// that is measured once, in the first call, for a few milliseconds. If that does not count,
/// `GetThreadTimes`, whose step is a timer tick of up to 15.6 ms; if that does not count either,
/// nothing. Trying finds out which one counts: Wine 8 has `GetThreadTimes` alone, in steps of 10
/// ms.
pub fn cpu_time() -> Option<CpuTime> {
    #[cfg(windows)]
    return platform::cpu_time();
    #[cfg(not(windows))]
    exact_cpu_time().map(|time| CpuTime {
        ns: time.as_ns(),
        approximate: false,
    })
}

/// Where [`cpu_time`] comes from, or why there is none.
pub fn cpu_time_source() -> &'static str {
    #[cfg(windows)]
    return platform::cpu_time_source();
    #[cfg(target_os = "macos")]
    return "clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID)";
    #[cfg(not(any(windows, target_os = "macos")))]
    "clock_gettime(CLOCK_THREAD_CPUTIME_ID)"
}

/// Lets the calling thread run on CPU number `cpu` only, counted from zero as
/// in [`allowed_cpus`].
///
/// # Errors
/// Unsupported where threads cannot be bound (macOS and others). Range when
/// there is no such CPU, or it is not open to this process.
pub fn pin(cpu: usize) -> Result<(), Error> {
    platform::pin(cpu)
}

/// That this process cannot run on a CPU, but on those that are `allowed`.
pub fn no_such_cpu(cpu: usize, allowed: &[usize]) -> Error {
    let allowed: Vec<_> = allowed.iter().map(usize::to_string).collect();
    Error::range(format!(
        "there is no CPU {cpu} for this process; it may use {}",
        allowed.join(", ")
    ))
}

/// The CPUs that the calling thread may run on, in ascending order.
///
/// # Platform notes
/// Windows: CPUs are numbered through all processor groups, and a thread runs
/// in one group. Where the system does not tell, as many CPUs as the standard
/// library counts.
pub fn allowed_cpus() -> Vec<usize> {
    platform::allowed_cpus()
}

/// How often the calling thread left its CPU; `None` where the system does not
/// count that for each thread. Linux: `getrusage(RUSAGE_THREAD)`.
pub fn switches() -> Option<Switches> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::switches() }
        _ => { None }
    }
}

/// How long the calling thread could run but waited for a CPU since it started;
/// `None` where the system does not tell. Linux: `/proc/thread-self/schedstat`,
/// if the kernel counts it.
pub fn queued() -> Option<Nanos> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::queued() }
        _ => { None }
    }
}

/// The slice of the calling thread, whether it is its own or the system's; `None` where the system
/// does not tell. Linux since 6.12: `sched_getattr`.
pub fn slice() -> Option<Nanos> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::slice() }
        _ => { None }
    }
}

/// Gives the calling thread a slice of its own, which the threads and processes that it starts have too; zero
/// goes back to that of the system. Linux since 6.12: `sched_setattr`, which grants 0.1 to 100 ms, and the
/// nearest of these for another length.
///
/// # Errors
/// Unsupported elsewhere, and for a real-time thread.
pub fn set_slice(slice: Nanos) -> Result<(), Error> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::set_slice(slice) }
        _ => {
            let _ = slice;
            Err(Error::unsupported(
                "threads have slices of their own on Linux only",
            ))
        }
    }
}

/// Gives the calling thread a scheduling policy, and its nice value stays. Linux: `sched_setattr`.
/// Threads created by a thread with a reservation are at `SCHED_OTHER`.
///
/// # Errors
/// Unsupported elsewhere. Permission for a real-time policy without `ulimit -r`. Range where the kernel does not
/// grant a reservation.
pub fn set_policy(policy: punctual_program::setting::Policy) -> Result<(), Error> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::set_policy(policy) }
        _ => {
            let _ = policy;
            Err(Error::unsupported(
                "scheduling policies are those of Linux",
            ))
        }
    }
}

/// Sets the nice value of the calling thread. Linux: `setpriority`.
///
/// # Errors
/// Unsupported elsewhere. Permission for a lower one without `ulimit -e`.
pub fn set_nice(nice: i8) -> Result<(), Error> {
    cfg_select! {
        any(target_os = "linux", target_os = "android") => { platform::set_nice(nice) }
        _ => {
            let _ = nice;
            Err(Error::unsupported(
                "threads have nice values of their own on Linux only",
            ))
        }
    }
}

/// The CPUs that the standard library counts, where the system has no list.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn counted_cpus() -> Vec<usize> {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (0..count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::clock;

    /// Liveness, not accuracy: a thread that never stops computing is charged
    /// sooner or later, wherever CPU time is counted at all.
    #[test]
    fn cpu_time_advances_or_is_absent() {
        assert!(!cpu_time_source().is_empty());
        let Some(start) = cpu_time() else { return };
        while cpu_time().unwrap().ns <= start.ns {
            crate::spin::until(clock::now() + Nanos::from_us(100));
        }
    }

    /// The count is the thread's and not the process's. A tick-charged count
    /// may be a tick off at each end, hence half of what the other one used.
    #[test]
    fn the_work_of_another_thread_is_not_charged() {
        let Some(start) = cpu_time() else { return };
        let worker = std::thread::spawn(|| {
            let start = cpu_time().unwrap().ns;
            while cpu_time().unwrap().ns < start + 80_000_000 {
                crate::spin::until(clock::now() + Nanos::from_us(100));
            }
        });
        worker.join().unwrap();
        assert!(cpu_time().unwrap().ns - start.ns < 40_000_000);
    }

    #[test]
    fn a_pinned_thread_may_run_on_one_cpu() {
        std::thread::spawn(|| {
            let cpus = allowed_cpus();
            assert!(!cpus.is_empty());
            let last = *cpus.last().unwrap();
            match pin(last) {
                Ok(()) => assert_eq!(allowed_cpus(), [last]),
                Err(error) => assert!(error.is_unsupported(), "{error}"),
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused() {
        std::thread::spawn(|| {
            for cpu in [1_000_000, usize::MAX] {
                let error = pin(cpu).unwrap_err();
                assert!(error.is_range() || error.is_unsupported(), "{error}");
            }
        })
        .join()
        .unwrap();
    }
}
