//! getrusage(2), which has single threads on Linux, and proc_stat(5).

use super::Usage;
use super::posix;
pub(super) use super::posix::{of_child, of_children, of_process, of_system_process};
use crate::facts;
use punctual_core::Nanos;

pub(super) fn of_thread() -> Option<Usage> {
    posix::of_thread().map(|usage| Usage::from(&usage))
}

pub(super) fn of_computer() -> Option<Nanos> {
    facts::busy()
}
