//! Where a thread's counts cannot be had, or not this cheaply.

use super::Counts;

#[derive(Debug)]
pub(super) struct Meter;

impl Meter {
    pub(super) fn of_this_thread() -> Self {
        Self
    }

    pub(super) fn read(&self) -> Counts {
        Counts::default()
    }
}
