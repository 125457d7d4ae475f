//! Handles that waits on Windows block on: timers and events; and lengths in the form its calls
//! take, never shorter than asked.

use punctual_core::Nanos;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;
use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateEventW, CreateWaitableTimerExW, INFINITE,
    SetWaitableTimer, THREAD_SYNCHRONIZE, TIMER_MODIFY_STATE, WaitForSingleObject,
};

/// A waitable timer, made with these flags, that resets itself when a wait
/// ends.
#[derive(Debug)]
pub struct WaitableTimer<const FLAGS: u32>(OwnedHandle);

/// On the same grid as `Sleep`.
pub type Plain = WaitableTimer<0>;
/// Off the grid, since Windows 10 1803.
pub type HighResolution = WaitableTimer<CREATE_WAITABLE_TIMER_HIGH_RESOLUTION>;

impl<const FLAGS: u32> WaitableTimer<FLAGS> {
    /// Makes one that is not due.
    ///
    /// # Errors
    /// The error of the system: high resolution needs Windows 10 1803.
    pub fn make() -> io::Result<Self> {
        let access = TIMER_MODIFY_STATE | THREAD_SYNCHRONIZE;
        // SAFETY: null pointers stand for default security and no name.
        let handle = unsafe { CreateWaitableTimerExW(ptr::null(), ptr::null(), FLAGS, access) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was made just now and has no other owner.
        Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    /// Sets when it is due, and says whether the system took that.
    pub fn arm(&self, length: Nanos) -> bool {
        let due = due_time(length);
        let handle = self.0.as_raw_handle();
        // SAFETY: the handle is open as long as `self` lives, `due` is a valid
        // number, and there is no completion routine, hence no argument.
        unsafe { SetWaitableTimer(handle, &due, 0, None, ptr::null(), 0) != 0 }
    }

    /// Waits until it is due, for ever if it is not armed, and says whether the
    /// system let it.
    pub fn wait(&self) -> bool {
        // SAFETY: the handle is open as long as `self` lives.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), INFINITE) == WAIT_OBJECT_0 }
    }
}

impl<const FLAGS: u32> AsRawHandle for WaitableTimer<FLAGS> {
    fn as_raw_handle(&self) -> RawHandle {
        self.0.as_raw_handle()
    }
}

/// An event that is not set.
///
/// # Errors
/// The error of the system.
pub fn event() -> io::Result<OwnedHandle> {
    let (by_hand, set) = (1, 0);
    // SAFETY: null pointers stand for default security and no name.
    let handle = unsafe { CreateEventW(ptr::null(), by_hand, set, ptr::null()) };
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle was made just now and has no other owner.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// A length in whole milliseconds, rounded up: the rest of one as `Sleep(0)` would
/// be a busy loop (renode#256). Waits cut the length to a second, which fits.
pub fn whole_ms(length: Nanos) -> u32 {
    u32::try_from(length.as_ns().div_ceil(1_000_000)).unwrap_or(u32::MAX - 1)
}

/// The due time of a timer: negative means from now, in units of 100 ns,
/// rounded up. Zero is an instant long past, so the timer is due at once.
fn due_time(length: Nanos) -> i64 {
    -i64::try_from(length.as_ns().div_ceil(100)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windows_sys::Win32::System::Threading::INFINITE;

    #[test]
    fn lengths_are_rounded_up() {
        for (ns, ms) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(whole_ms(Nanos::new(ns)), ms);
        }
        for (ns, due) in [(0, 0), (1, -1), (100, -1), (101, -2), (1_000_000, -10_000)] {
            assert_eq!(due_time(Nanos::new(ns)), due);
        }
        assert!(whole_ms(Nanos::MAX) < INFINITE);
        assert!(due_time(Nanos::MAX) < 0);
    }
}
