//! Linux programs an interrupt for each timer, so there is no interval.

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
        "Linux has no timer interval to ask for: what it has is timer slack, per thread",
    )
}
