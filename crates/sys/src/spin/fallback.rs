//! No timed wait instruction.

use super::Kind;
use punctual_core::Nanos;

pub(super) fn detect() -> Kind {
    Kind::Pause
}

/// Does not wait.
pub(super) fn wait(_kind: Kind, _length: Nanos) -> bool {
    false
}
