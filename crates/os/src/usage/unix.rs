//! getrusage(2), without what POSIX does not know of.

use super::Usage;
pub(super) use super::posix::{of_child, of_children, of_process, of_system_process};
use punctual_core::Nanos;

pub(super) fn of_thread() -> Option<Usage> {
    None
}

pub(super) fn of_computer() -> Option<Nanos> {
    None
}
