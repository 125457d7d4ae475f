//! No timer slack that a thread could set.

use super::ThreadSlack;
use crate::Error;
use punctual_core::Nanos;

pub(super) fn current() -> Option<Nanos> {
    None
}

pub(super) fn set(_slack: Nanos) -> Result<Nanos, Error> {
    Err(unsupported())
}

pub(super) fn of(_pid: u32) -> Result<Vec<ThreadSlack>, Error> {
    Err(unsupported())
}

pub(super) fn set_of(_pid: u32, _slack: Nanos) -> Result<Vec<ThreadSlack>, Error> {
    Err(unsupported())
}

pub(super) fn started(_pid: u32) -> Option<u64> {
    None
}

pub(super) fn threads(_pid: u32) -> Result<Vec<u32>, Error> {
    Err(unsupported())
}

pub(super) fn restore(_threads: &[ThreadSlack]) -> Result<(), Error> {
    Err(unsupported())
}

fn unsupported() -> Error {
    Error::unsupported("timer slack is a Linux setting: this system has none, so leave it out")
}
