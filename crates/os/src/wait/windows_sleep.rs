//! `Sleep` and `SleepEx`, in whole milliseconds.

use crate::clock::{self, Host};
use crate::handles::whole_ms;
use punctual_core::{Limit, Reason};
use windows_sys::Win32::System::Threading::{Sleep, SleepEx};

pub(super) fn block(limit: Limit<Host>) -> Reason {
    let ms = whole_ms(limit.length(clock::now()));
    // SAFETY: takes a number, which is far below INFINITE.
    unsafe { Sleep(ms) };
    Reason::Timer
}

/// Not alertable, so that nothing but the timeout ends it.
pub(super) fn block_ex(limit: Limit<Host>) -> Reason {
    let ms = whole_ms(limit.length(clock::now()));
    // SAFETY: takes numbers; the first is far below INFINITE.
    unsafe { SleepEx(ms, 0) };
    Reason::Timer
}

/// Offers the CPU to another thread, whatever the length: `Sleep(0)`.
pub(super) fn offer() -> Reason {
    // SAFETY: takes a number.
    unsafe { Sleep(0) };
    Reason::Ran
}
