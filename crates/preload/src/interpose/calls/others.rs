//! Waits for signals, and timers of file descriptors.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, itimerspec, siginfo_t, sigset_t, timespec};

use super::super::wait::{Wait, errno};
use super::super::{books, process, real};
use super::{length, missing, time};
use crate::Call;
use crate::books::is_emulated;
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

/// A timer of a file descriptor. One that expires once does so when the rule ends a wait of its length. Others keep their
/// lengths; the summary says how many there were.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn timerfd_settime(
    timer: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    unsafe {
        let Some(real) = real::timerfd_settime() else {
            return missing();
        };
        // The caller may have `old` in the same place.
        let (Some(page), Some(set)) = (process::page(), new.as_ref().copied()) else {
            return real(timer, flags, new, old);
        };
        let Some(asked) = length(&raw const set.it_value).filter(|ns| *ns > 0) else {
            return real(timer, flags, new, old);
        };
        if length(&raw const set.it_interval) != Some(0) {
            page.word(at::TIMERS).fetch_add(1, Relaxed);
            return real(timer, flags, new, old);
        }
        let once = |ns| itimerspec {
            it_interval: time(0),
            it_value: time(ns),
        };
        let by_rule = |now, asked| {
            let asked = Some(asked).filter(|asked| is_emulated(*asked))?;
            books::set(Call::TimerfdSettime, now, asked)
        };
        // Read before the rest: a thread that is preempted in between is not early.
        let now = process::now(libc::CLOCK_MONOTONIC);
        if flags & libc::TFD_TIMER_ABSTIME == 0 {
            // The kernel refuses other files. Zero would stop a timer.
            return match left(timer).and_then(|_| by_rule(now, asked)) {
                Some(ask) => real(timer, flags, &once(ask.length.max(1)), old),
                None => real(timer, flags, new, old),
            };
        }
        let result = real(timer, flags, new, old);
        // Only the kernel knows its clock.
        let left = left(timer).filter(|_| result == 0);
        if let Some(ask) = left.and_then(|left| by_rule(now, left)) {
            real(timer, flags, &once(ask.instant(asked)), null_mut());
        }
        result
    }
}

/// The nanoseconds until a timer expires.
unsafe fn left(timer: c_int) -> Option<u64> {
    let mut now = itimerspec {
        it_interval: time(0),
        it_value: time(0),
    };
    unsafe {
        let done = real::timerfd_gettime()?(timer, &raw mut now);
        length(&raw const now.it_value).filter(|_| done == 0)
    }
}
