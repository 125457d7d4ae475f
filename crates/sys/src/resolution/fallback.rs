//! A system without an interval that a process could ask for.

use super::Resolution;
use crate::Error;
use punctual_core::Nanos;

pub(super) fn query() -> Result<Resolution, Error> {
    Err(unsupported())
}

pub(super) fn request(_interval: Nanos) -> Result<(), Error> {
    Err(unsupported())
}

pub(super) fn release(_interval: Nanos) -> Result<(), Error> {
    Err(unsupported())
}

fn unsupported() -> Error {
    Error::unsupported(
        "only Windows has a timer interval to ask for: macOS coalesces timers by the quality of \
         service of the thread",
    )
}
