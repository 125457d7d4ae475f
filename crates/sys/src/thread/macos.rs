//! CPU time by Apple's call, which has nanoseconds where `clock_gettime` of
//! older releases has microseconds (man page clock_gettime_nsec_np).

use super::CpuTime;
pub(super) use super::no_affinity::{allowed_cpus, pin, queued, switches};

pub(super) fn cpu_time() -> Option<CpuTime> {
    // SAFETY: takes the number of a clock that macOS has had since 10.12, and
    // returns a number; zero means failure.
    let ns = unsafe { clock_gettime_nsec_np(libc::CLOCK_THREAD_CPUTIME_ID) };
    (ns > 0).then_some(CpuTime {
        ns,
        approximate: false,
    })
}

pub(super) fn cpu_time_source() -> &'static str {
    "clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID)"
}

// SAFETY: as declared in Apple's <time.h>; the libc crate does not have it.
unsafe extern "C" {
    fn clock_gettime_nsec_np(clock: libc::clockid_t) -> u64;
}
