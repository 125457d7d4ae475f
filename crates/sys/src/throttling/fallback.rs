//! A system that asks no process about its timer requests.

use crate::Error;
use punctual_core::setting::Throttling;

pub(super) fn state() -> Result<Throttling, Error> {
    Err(unsupported())
}

pub(super) fn set(_throttling: Throttling) -> Result<(), Error> {
    Err(unsupported())
}

fn unsupported() -> Error {
    Error::unsupported("only Windows 11 throttles the timer requests of a process: leave it out")
}
