//! `SetThreadPriority`, within the priority class of the process.

use crate::Error;
use punctual_core::setting::Priority;
use windows_sys::Win32::System::Threading::{
    GetCurrentThread, GetThreadPriority, SetThreadPriority, THREAD_PRIORITY_ABOVE_NORMAL,
    THREAD_PRIORITY_BELOW_NORMAL, THREAD_PRIORITY_IDLE, THREAD_PRIORITY_NORMAL,
    THREAD_PRIORITY_TIME_CRITICAL,
};
use windows_sys::Win32::System::WindowsProgramming::THREAD_PRIORITY_ERROR_RETURN;

pub(super) fn current() -> Option<String> {
    let level = level().ok()?;
    Some(match level {
        THREAD_PRIORITY_IDLE => "THREAD_PRIORITY_IDLE".to_owned(),
        THREAD_PRIORITY_BELOW_NORMAL => "THREAD_PRIORITY_BELOW_NORMAL".to_owned(),
        THREAD_PRIORITY_NORMAL => "THREAD_PRIORITY_NORMAL".to_owned(),
        THREAD_PRIORITY_ABOVE_NORMAL => "THREAD_PRIORITY_ABOVE_NORMAL".to_owned(),
        THREAD_PRIORITY_TIME_CRITICAL => "THREAD_PRIORITY_TIME_CRITICAL".to_owned(),
        level => format!("thread priority {level}"),
    })
}

pub(super) fn set(priority: Priority) -> Result<(), Error> {
    put(match priority {
        Priority::Background => THREAD_PRIORITY_IDLE,
        Priority::Utility => THREAD_PRIORITY_BELOW_NORMAL,
        Priority::Normal => THREAD_PRIORITY_NORMAL,
        Priority::Interactive => THREAD_PRIORITY_ABOVE_NORMAL,
        Priority::RealTime => THREAD_PRIORITY_TIME_CRITICAL,
    })
}

/// The level of a thread.
#[derive(Debug)]
pub(super) struct Before(i32);

impl Before {
    pub(super) fn of_thread() -> Result<Self, Error> {
        level().map(Self)
    }

    /// Windows lets every process raise its threads.
    pub(super) fn can_come_back(&self, _priority: Priority) -> Result<(), Error> {
        Ok(())
    }

    pub(super) fn restore(&self) -> Result<(), Error> {
        put(self.0)
    }
}

fn level() -> Result<i32, Error> {
    // SAFETY: the pseudo handle of this thread.
    let level = unsafe { GetThreadPriority(GetCurrentThread()) };
    if level == THREAD_PRIORITY_ERROR_RETURN as i32 {
        return Err(Error::last_os("asking for the priority of this thread"));
    }
    Ok(level)
}

fn put(level: i32) -> Result<(), Error> {
    // SAFETY: the pseudo handle of this thread, and a number.
    if unsafe { SetThreadPriority(GetCurrentThread(), level) } == 0 {
        return Err(Error::last_os("setting the priority of this thread"));
    }
    Ok(())
}
