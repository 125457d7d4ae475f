//! Nothing beyond the standard library.

use super::CpuTime;
pub(super) use super::no_affinity::{allowed_cpus, pin, queued, switches};

pub(super) fn cpu_time() -> Option<CpuTime> {
    None
}

pub(super) fn cpu_time_source() -> &'static str {
    "none: punctual knows no CPU time on this system"
}
