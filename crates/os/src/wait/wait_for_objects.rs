//! `WaitForSingleObject` and `WaitForMultipleObjects`, with a timeout in whole
//! milliseconds, on events that nobody sets.

use super::handle::Call;
use crate::clock::{self, Host};
use crate::handles::{event, whole_ms};
use crate::wait::sleeper::common::refused;
use punctual_core::{Limit, Reason};
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::WAIT_TIMEOUT;
use windows_sys::Win32::System::Threading::{WaitForMultipleObjects, WaitForSingleObject};

/// An event to wait for alone.
#[derive(Debug)]
pub(super) struct SingleObject(OwnedHandle);

/// Events to wait for any of.
#[derive(Debug)]
pub(super) struct MultipleObjects([OwnedHandle; 2]);

impl Call for SingleObject {
    const MAKING: &'static str = "making an event";

    fn make() -> io::Result<Self> {
        Ok(Self(event()?))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        let ms = whole_ms(limit.length(clock::now()));
        // SAFETY: the handle is open as long as `self` lives.
        match unsafe { WaitForSingleObject(self.0.as_raw_handle(), ms) } {
            WAIT_TIMEOUT => Reason::Timer,
            _ => refused(limit),
        }
    }
}

impl Call for MultipleObjects {
    const MAKING: &'static str = "making events";

    fn make() -> io::Result<Self> {
        Ok(Self([event()?, event()?]))
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        let handles = self.0.each_ref().map(|handle| handle.as_raw_handle());
        let any = 0;
        let ms = whole_ms(limit.length(clock::now()));
        // SAFETY: there are two handles, as stated, which are open as long as
        // `self` lives.
        match unsafe { WaitForMultipleObjects(2, handles.as_ptr(), any, ms) } {
            WAIT_TIMEOUT => Reason::Timer,
            _ => refused(limit),
        }
    }
}
