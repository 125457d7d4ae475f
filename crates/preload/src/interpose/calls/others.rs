//! Waits for signals, and timers of file descriptors.

use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, itimerspec, siginfo_t, sigset_t, timespec};

use super::super::wait::{Wait, errno};
use super::super::{process, real};
use super::{length, missing, time};
use crate::Call;
use crate::page::at;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigtimedwait(
    signals: *const sigset_t,
    info: *mut siginfo_t,
    asked: *const timespec,
) -> c_int {
    unsafe {
        let Some(real) = real::sigtimedwait() else {
            return missing();
        };
        let Some(wait) = length(asked).and_then(|ns| Wait::begin(Call::Sigtimedwait, ns)) else {
            return real(signals, info, asked);
        };
        wait.by(
            || real(signals, info, asked),
            |ask| real(signals, info, &time(ask.length)),
            |result| result < 0 && errno() == libc::EAGAIN,
        )
    }
}

/// Timers of file descriptors are not emulated; the summary says how many there were.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timerfd_settime(
    timer: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    unsafe {
        if let Some(page) = process::page() {
            page.word(at::TIMERS).fetch_add(1, Relaxed);
        }
        real::timerfd_settime().map_or_else(|| missing(), |real| real(timer, flags, new, old))
    }
}
