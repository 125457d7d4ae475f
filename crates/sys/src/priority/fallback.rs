//! A system whose priorities punctual does not know.

use crate::Error;
use punctual_core::setting::Priority;
use std::convert::Infallible;

pub(super) fn current() -> Option<String> {
    None
}

pub(super) fn yield_to_others() -> Result<(), Error> {
    Err(Error::unsupported("only Linux has nice values of threads"))
}

pub(super) fn set(_priority: Priority) -> Result<(), Error> {
    Err(unsupported())
}

#[derive(Debug)]
pub(super) struct Before(Infallible);

impl Before {
    pub(super) fn of_thread() -> Result<Self, Error> {
        Err(unsupported())
    }

    pub(super) fn can_come_back(&self, _priority: Priority) -> Result<(), Error> {
        match self.0 {}
    }

    pub(super) fn restore(&self) -> Result<(), Error> {
        match self.0 {}
    }
}

fn unsupported() -> Error {
    Error::unsupported("punctual knows no thread priorities of this system: leave them out")
}
