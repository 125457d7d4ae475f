//! getrusage(2).

use super::Usage;
use libc::{c_int, rusage, timeval};
use punctual_core::Nanos;
use std::process::Child;

pub(super) fn of_process() -> Option<Usage> {
    read(libc::RUSAGE_SELF).map(|usage| Usage::from(&usage))
}

pub(super) fn of_children() -> Option<Usage> {
    read(libc::RUSAGE_CHILDREN).map(|usage| Usage::from(&usage))
}

pub(super) fn of_child(_child: &Child) -> Option<Usage> {
    None
}

pub(super) fn of_system_process() -> Option<Nanos> {
    None
}

/// Of the calling thread, which Linux has too; libc names `RUSAGE_THREAD` not for
/// all of its C libraries (`linux/resource.h`).
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn of_thread() -> Option<rusage> {
    read(1)
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
