//! Charges of the system to a process, a thread, or itself: CPU time, split into their own work
//! and the system's work for them, and page faults.
//!
//! A reading is the sum since they started; only differences mean something.
//! [`meter`](crate::meter) reads what a thread costs while it waits, more
//! cheaply and with other counts.

use punctual_core::Nanos;
use std::process::Child;

#[cfg(unix)]
mod platform {
    //! getrusage(2), which has single threads on Linux, and proc_stat(5); Mach for those of macOS.

    use super::Usage;
    use libc::{c_int, rusage, timeval};
    use punctual_core::Nanos;

    pub(super) fn of_process() -> Option<Usage> {
        read(libc::RUSAGE_SELF).map(|usage| Usage::from(&usage))
    }

    pub(super) fn of_children() -> Option<Usage> {
        read(libc::RUSAGE_CHILDREN).map(|usage| Usage::from(&usage))
    }

    /// Of the calling thread, which Linux has too; libc names `RUSAGE_THREAD` not for
    /// all of its C libraries (`linux/resource.h`).
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn rusage_of_thread() -> Option<rusage> {
        read(1)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn of_thread() -> Option<Usage> {
        rusage_of_thread().map(|usage| Usage::from(&usage))
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn of_computer() -> Option<Nanos> {
        crate::facts::busy()
    }

    /// By Mach. Not `mach_thread_self`, whose port would have to be given back.
    #[cfg(target_os = "macos")]
    pub(super) fn of_thread() -> Option<Usage> {
        // SAFETY: an all-zero structure of numbers is valid.
        let mut info: libc::thread_basic_info = unsafe { std::mem::zeroed() };
        let mut words = libc::THREAD_BASIC_INFO_COUNT;
        // SAFETY: the port of this thread, and a place as long as stated.
        let answer = unsafe {
            libc::thread_info(
                libc::pthread_mach_thread_np(libc::pthread_self()),
                libc::THREAD_BASIC_INFO as libc::thread_flavor_t,
                (&raw mut info).cast(),
                &mut words,
            )
        };
        let length = |time: libc::time_value_t| {
            Nanos::from_secs(time.seconds as u64) + Nanos::from_us(time.microseconds as u64)
        };
        (answer == libc::KERN_SUCCESS).then(|| Usage {
            user: length(info.user_time),
            system: length(info.system_time),
            faults: None,
            major_faults: None,
        })
    }

    fn read(who: c_int) -> Option<rusage> {
        // SAFETY: an all-zero rusage is valid.
        let mut usage: rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid place for one rusage.
        let answer = unsafe { libc::getrusage(who, &mut usage) };
        (answer == 0).then_some(usage)
    }

    impl From<&rusage> for Usage {
        fn from(usage: &rusage) -> Self {
            let (minor, major) = (usage.ru_minflt as u64, usage.ru_majflt as u64);
            Self {
                user: length(usage.ru_utime),
                system: length(usage.ru_stime),
                faults: Some(minor + major),
                major_faults: Some(major),
            }
        }
    }

    fn length(time: timeval) -> Nanos {
        Nanos::from_secs(time.tv_sec as u64) + Nanos::from_us(time.tv_usec as u64)
    }
}
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(unix, windows)))]
mod platform {
    pub(super) fn of_process() -> Option<super::Usage> {
        None
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use platform::rusage_of_thread;

/// The use since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in the program itself.
    pub user: Nanos,
    /// CPU time in the system on its behalf.
    pub system: Nanos,
    /// How often a page that was touched was not there, whatever it took to get
    /// it; `None` where that is not counted. The count of Windows begins again
    /// after 2^32.
    pub faults: Option<u64>,
    /// How many of the faults had to read from a disk; `None` where they are not
    /// counted apart.
    pub major_faults: Option<u64>,
}

impl Usage {
    /// All CPU time.
    pub fn cpu(&self) -> Nanos {
        self.user + self.system
    }
}

/// This process, with all its threads; `None` where the system does not count.
///
/// # Accuracy
/// Unix: microseconds, where the kernel divides an exact sum by what ticks found
/// running. Windows: ticks, of up to 15.6 ms.
pub fn of_process() -> Option<Usage> {
    platform::of_process()
}

/// The calling thread; `None` where the system does not count.
///
/// # Accuracy
/// As [`of_process`]. Page faults of a thread are counted on Linux only.
pub fn of_thread() -> Option<Usage> {
    cfg_select! {
        any(target_os = "linux", target_os = "android", target_os = "macos", windows) => { platform::of_thread() }
        _ => { None }
    }
}

/// All children of this process that have ended and were waited for, together
/// with theirs; `None` where the system does not keep that, as on Windows, which
/// has [`of_child`].
pub fn of_children() -> Option<Usage> {
    cfg_select! {
        unix => { platform::of_children() }
        _ => { None }
    }
}

/// A child while it runs, and after it has ended too; `None` except on Windows.
/// Elsewhere a child that was waited for is in [`of_children`].
pub fn of_child(child: &Child) -> Option<Usage> {
    cfg_select! {
        windows => { platform::of_child(child) }
        _ => {
            let _ = child;
            None
        }
    }
}

/// CPU time of everything that ran on this computer, on all its CPUs together; `None` where the
/// system does not tell. The hypervisor's time is not in it.
///
/// # Accuracy
/// Linux: `/proc/stat`, in steps of 10 ms for each CPU. Windows: ticks, of up to
/// 15.6 ms (`GetSystemTimes`).
pub fn of_computer() -> Option<Nanos> {
    cfg_select! {
        any(target_os = "linux", target_os = "android", windows) => { platform::of_computer() }
        _ => { None }
    }
}

/// CPU time of the process in which Windows does its own work, `System`: what is
/// freed is zeroed there. `None` elsewhere.
///
/// # Accuracy
/// Ticks, of up to 15.6 ms.
pub fn of_system_process() -> Option<Nanos> {
    cfg_select! {
        windows => { platform::of_system_process() }
        _ => { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::process::{Command, Stdio};

    /// A huge page is one fault: 32 MiB are 16 faults at least.
    const BYTES: usize = 32 << 20;
    const LEAST: u64 = 16;

    #[test]
    fn touching_new_memory_is_charged() {
        let (process, thread) = (of_process(), of_thread());
        // All zeros are promised by the system and given page by page.
        let mut bytes = vec![0_u8; BYTES];
        for at in (0..BYTES).step_by(4096) {
            std::hint::black_box(&mut bytes)[at] = 1;
        }
        for (before, after) in [(process, of_process()), (thread, of_thread())] {
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            assert!(after.user >= before.user && after.system >= before.system);
            assert!(after.major_faults >= before.major_faults);
            if let (Some(before), Some(after)) = (before.faults, after.faults) {
                assert!(after >= before + LEAST, "{before} and then {after}");
            }
        }
    }

    #[test]
    fn the_computer_never_works_backwards() {
        assert!(of_computer() <= of_computer());
    }

    /// This test program, asked for the list of its tests.
    #[test]
    fn an_ended_child_is_charged_for_what_it_did() {
        let before = of_children();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("--list")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        assert!(child.wait().unwrap().success());
        assert!(!cfg!(windows) || of_child(&child).is_some());
        assert_eq!(of_children().is_some(), before.is_some());
        if let (Some(before), Some(after)) = (before, of_children()) {
            assert!(after.cpu() >= before.cpu() && after.faults > before.faults);
        }
    }

    /// Liveness, not accuracy: who computes is charged sooner or later.
    #[test]
    fn computing_is_charged() {
        for of in [of_process, of_thread] {
            let Some(start) = of() else { continue };
            while of().unwrap().cpu() <= start.cpu() {
                std::hint::spin_loop();
            }
        }
    }
}
