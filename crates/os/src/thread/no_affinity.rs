//! Where punctual binds no thread to a CPU and counts no switches: macOS has no
//! call for either, and those of the BSDs are not wrapped.

use super::Switches;
pub(super) use super::exact::{cpu_time, cpu_time_source};
pub(super) use super::no_shares::{set_nice, set_slice, slice};
use crate::Error;
use punctual_core::Nanos;

pub(super) fn pin(cpu: usize) -> Result<(), Error> {
    Err(Error::unsupported(format!(
        "pinning to CPU {cpu}: punctual has no call for it on this system, so leave it out"
    )))
}

pub(super) fn allowed_cpus() -> Vec<usize> {
    super::counted_cpus()
}

pub(super) fn switches() -> Option<Switches> {
    None
}

pub(super) fn queued() -> Option<Nanos> {
    None
}
