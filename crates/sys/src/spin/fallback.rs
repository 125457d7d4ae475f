//! No timed wait instruction.

use super::Kind;
use punctual_core::Nanos;
use std::convert::Infallible;

/// Never made.
#[derive(Debug)]
pub(super) struct LowPower(Infallible);

impl LowPower {
    pub(super) fn detect() -> Option<Self> {
        None
    }

    pub(super) fn kind(&self) -> Kind {
        match self.0 {}
    }

    pub(super) fn wait(&self, _length: Nanos) {
        match self.0 {}
    }
}
