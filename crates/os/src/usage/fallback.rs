//! A system that counts nothing that the standard library knows of.

use super::Usage;
use punctual_core::Nanos;
use std::process::Child;

pub(super) fn of_process() -> Option<Usage> {
    None
}

pub(super) fn of_thread() -> Option<Usage> {
    None
}

pub(super) fn of_children() -> Option<Usage> {
    None
}

pub(super) fn of_child(_child: &Child) -> Option<Usage> {
    None
}

pub(super) fn of_system_process() -> Option<Nanos> {
    None
}

pub(super) fn of_computer() -> Option<Nanos> {
    None
}
