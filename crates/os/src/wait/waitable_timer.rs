//! Waitable timers, plain and of high resolution.

use super::handle::{Call, Handle};
use crate::Error;
use crate::clock::{self, Host};
use crate::handles::{HighResolution, WaitableTimer};
use crate::wait::sleeper::common::refused;
use punctual_core::{Limit, Reason};
use std::io;

impl<const FLAGS: u32> Call for WaitableTimer<FLAGS> {
    const MAKING: &'static str = "making a waitable timer";

    fn make() -> io::Result<Self> {
        Self::make()
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        if self.arm(limit.length(clock::now())) && self.wait() {
            Reason::Timer
        } else {
            refused(limit)
        }
    }
}

impl Handle<HighResolution> {
    /// As [`prepare`](Self::prepare), with an error that says which Windows it
    /// takes.
    pub(super) fn prepare_high_resolution(&mut self) -> Result<(), Error> {
        self.make().map_err(|cause| no_high_resolution(&cause))
    }
}

fn no_high_resolution(cause: &io::Error) -> Error {
    Error::unsupported(format!(
        "no high-resolution timer here, it needs Windows 10 version 1803 ({cause}): use Sleep, waitable-timer or thread::sleep"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_use_instead() {
        let cause = io::Error::from_raw_os_error(87);
        let error = no_high_resolution(&cause);
        assert!(error.is_unsupported());
        assert!(error.to_string().contains("waitable-timer"));
    }
}
