//! A system about which punctual knows nothing special.

use super::{Counters, CpuTimes, Host};

pub(super) fn host() -> Host {
    Host::default()
}

pub(super) fn counters() -> Option<Counters> {
    None
}

pub(super) fn on_battery() -> Option<bool> {
    None
}

pub(super) fn cpu_times(_cpus: &[usize]) -> Option<CpuTimes> {
    None
}
