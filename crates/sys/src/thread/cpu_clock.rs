//! `CLOCK_THREAD_CPUTIME_ID`.

use super::CpuTime;
use libc::{CLOCK_THREAD_CPUTIME_ID, timespec};

pub(super) fn cpu_time() -> Option<CpuTime> {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for one timespec.
    let answer = unsafe { libc::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    (answer == 0).then(|| CpuTime {
        ns: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
        approximate: false,
    })
}

pub(super) fn cpu_time_source() -> &'static str {
    "clock_gettime(CLOCK_THREAD_CPUTIME_ID)"
}
