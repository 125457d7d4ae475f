//! A system about which punctual knows nothing special.

use super::Host;
use punctual_core::Nanos;

pub(super) fn host() -> Host {
    Host::default()
}

pub(super) fn idle(_cpu: usize) -> Option<Nanos> {
    None
}

pub(super) fn stolen(_cpu: usize) -> Option<Nanos> {
    None
}
