//! No timer slack that a thread could set.

use crate::Error;
use punctual_core::Nanos;

pub(super) fn current() -> Option<Nanos> {
    None
}

pub(super) fn set(_slack: Nanos) -> Result<Nanos, Error> {
    Err(unsupported())
}

fn unsupported() -> Error {
    Error::unsupported("timer slack is a Linux setting: this system has none, so leave it out")
}
