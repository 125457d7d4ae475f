//! Sleeps.

use std::ptr::null_mut;

use libc::{c_int, c_uint, clockid_t, timespec, useconds_t};

use super::super::real;
use super::super::wait::Wait;
use super::{SECOND, length, missing, time, until};
use crate::Call;

type Nanosleep = unsafe extern "C-unwind" fn(*const timespec, *mut timespec) -> c_int;

/// Sleeps for a length, by the native call or the real `nanosleep`, which the native call may use: what it returns, and
/// the wait.
unsafe fn sleeps(
    call: Call,
    ns: u64,
    native: impl FnOnce(Nanosleep) -> c_int,
) -> Option<(c_int, Wait)> {
    let real = real::nanosleep()?;
    let wait = Wait::begin(call, ns)?;
    // SAFETY: the time is of this function.
    let fine = |length| unsafe { real(&time(length), null_mut()) };
    let result = wait.by(
        || native(real),
        |ask| fine(ask.length),
        |result| result == 0,
    );
    Some((result, wait))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn nanosleep(asked: *const timespec, left: *mut timespec) -> c_int {
    unsafe {
        let slept =
            length(asked).and_then(|ns| sleeps(Call::Nanosleep, ns, |real| real(asked, left)));
        let Some((result, wait)) = slept else {
            return real::nanosleep().map_or_else(|| missing(), |real| real(asked, left));
        };
        say_left(&wait, result != 0, left);
        result
    }
}

/// Says what is left of a wait, if a signal ended it and its call did not say it.
unsafe fn say_left(wait: &Wait, is_signal: bool, left: *mut timespec) {
    if let Some(ns) = wait.left().filter(|_| is_signal && !left.is_null()) {
        // SAFETY: the caller of libc has a time there.
        unsafe { *left = time(ns) };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    asked: *const timespec,
    left: *mut timespec,
) -> c_int {
    unsafe {
        let Some(real) = real::clock_nanosleep() else {
            return libc::ENOSYS;
        };
        if flags == libc::TIMER_ABSTIME {
            let Some((wait, instant)) = until(Call::ClockNanosleep, clock, asked) else {
                return real(clock, flags, asked, left);
            };
            return wait.by(
                || real(clock, flags, asked, left),
                |ask| real(clock, flags, &time(ask.instant(instant)), left),
                |result| result == 0,
            );
        }
        let is_wall = clock == libc::CLOCK_MONOTONIC || clock == libc::CLOCK_REALTIME;
        let length = length(asked).filter(|_| flags == 0 && is_wall);
        let Some(wait) = length.and_then(|ns| Wait::begin(Call::ClockNanosleep, ns)) else {
            return real(clock, flags, asked, left);
        };
        let result = wait.by(
            || real(clock, flags, asked, left),
            |ask| real(clock, flags, &time(ask.length), null_mut()),
            |result| result == 0,
        );
        say_left(&wait, result == libc::EINTR, left);
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn usleep(us: useconds_t) -> c_int {
    unsafe {
        let native = || real::usleep().map_or_else(|| missing(), |real| real(us));
        let slept = sleeps(Call::Usleep, u64::from(us) * 1_000, |_| native());
        slept.map_or_else(native, |(result, _)| result)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    unsafe {
        let native = || real::sleep().map_or(seconds, |real| real(seconds));
        let ns = u64::from(seconds) * SECOND;
        let mut left = time(0);
        // `sleep` itself does not say that a signal ended it in its last second.
        let slept = sleeps(Call::Sleep, ns, |real| real(&time(ns), &mut left));
        match slept {
            Some((0, _)) => 0,
            Some((_, wait)) => {
                (wait.left()).map_or(left.tv_sec as c_uint, |ns| (ns / SECOND) as c_uint)
            }
            None => native(),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn thrd_sleep(asked: *const timespec, left: *mut timespec) -> c_int {
    unsafe {
        let Some(real) = real::thrd_sleep() else {
            return -2;
        };
        let Some(wait) = length(asked).and_then(|ns| Wait::begin(Call::ThrdSleep, ns)) else {
            return real(asked, left);
        };
        let result = wait.by(
            || real(asked, left),
            |ask| real(&time(ask.length), null_mut()),
            |result| result == 0,
        );
        say_left(&wait, result == -1, left);
        result
    }
}
