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
