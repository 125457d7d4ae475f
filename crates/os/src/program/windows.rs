//! CreateProcess.

use crate::Error;
use std::process::{Command, ExitStatus};
use windows_sys::Win32::Foundation::STATUS_CONTROL_C_EXIT;

pub(super) fn replace(_command: &mut Command) -> Error {
    Error::unsupported("Windows cannot replace a process by another program")
}

pub(super) fn was_told_to_end(status: ExitStatus) -> bool {
    status.code() == Some(STATUS_CONTROL_C_EXIT)
}
