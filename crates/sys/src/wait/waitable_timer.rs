//! Waitable timers, plain and of high resolution.

use super::handle::{Call, Handle};
use super::windows_units::due_time;
use crate::Error;
use crate::clock::{self, Host};
use crate::wait::sleeper::common::refused;
use punctual_core::{Limit, Nanos, Reason};
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;
use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, INFINITE, SetWaitableTimer,
    THREAD_SYNCHRONIZE, TIMER_MODIFY_STATE, WaitForSingleObject,
};

/// A waitable timer, made with these flags, that resets itself when a wait
/// ends.
#[derive(Debug)]
pub(crate) struct WaitableTimer<const FLAGS: u32>(OwnedHandle);

pub(crate) type Plain = WaitableTimer<0>;
pub(crate) type HighResolution = WaitableTimer<CREATE_WAITABLE_TIMER_HIGH_RESOLUTION>;

impl<const FLAGS: u32> Call for WaitableTimer<FLAGS> {
    const MAKING: &'static str = "making a waitable timer";

    fn make() -> io::Result<Self> {
        let access = TIMER_MODIFY_STATE | THREAD_SYNCHRONIZE;
        // SAFETY: null pointers stand for default security and no name.
        let handle = unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), FLAGS, access) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was made just now and nobody else owns it.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        if self.arm(limit.length(clock::now())) && self.wait() {
            Reason::Timer
        } else {
            refused(limit)
        }
    }
}

impl<const FLAGS: u32> WaitableTimer<FLAGS> {
    /// Sets when it is due, and says whether the system took that.
    pub(crate) fn arm(&self, length: Nanos) -> bool {
        let due = due_time(length);
        let handle = self.0.as_raw_handle();
        // SAFETY: the handle is open as long as `self` lives, `due` is a valid
        // number, and there is no completion routine, hence no argument.
        unsafe { SetWaitableTimer(handle, &due, 0, None, ptr::null(), 0) != 0 }
    }

    /// Waits until it is due, and says whether the system let it.
    pub(crate) fn wait(&self) -> bool {
        // SAFETY: the handle is open as long as `self` lives. The wait ends: the
        // timer was armed for a second at most.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), INFINITE) == WAIT_OBJECT_0 }
    }
}

impl<const FLAGS: u32> AsRawHandle for WaitableTimer<FLAGS> {
    fn as_raw_handle(&self) -> RawHandle {
        self.0.as_raw_handle()
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
