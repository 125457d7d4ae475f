//! CPU time by its POSIX clock.

pub(super) use super::cpu_clock::{cpu_time, cpu_time_source};
pub(super) use super::no_affinity::{allowed_cpus, pin, queued, switches};
