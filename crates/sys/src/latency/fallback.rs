//! No limit that a program could hold.

use crate::Error;
use punctual_core::Nanos;
use std::convert::Infallible;

pub(super) type Held = Infallible;

pub(super) fn hold(_limit: Nanos) -> Result<Held, Error> {
    Err(Error::unsupported(
        "only Linux lets a program limit the wake-up latency of the CPUs: leave it out",
    ))
}
