//! The functions of libc that wait.
//!
//! Each asks the real function for what the rule makes of the length, and leaves to it everything else: signals,
//! cancellation, errors. Nothing here has a destructor, so a thread that is cancelled unwinds through it.
//!
//! The safety of all wrappers is the same, and stands here once. A wrapper passes the arguments of its caller on to
//! the function that the caller meant, except for lengths, which are the wrapper's own. It reads what that
//! function would read.

#![allow(clippy::undocumented_unsafe_blocks)]

use std::ptr::{null, null_mut};
use std::sync::atomic::Ordering::Relaxed;

use libc::{
    c_int, c_long, c_uint, clockid_t, epoll_event, fd_set, itimerspec, nfds_t, pollfd,
    pthread_cond_t, pthread_mutex_t, sem_t, siginfo_t, sigset_t, timespec, timeval, useconds_t,
};

use super::books::Wait;
use super::process::{self, Page};
use super::real;
use crate::Call;
use crate::page::at;

const SECOND: u64 = 1_000_000_000;

/// A length of time in nanoseconds; `None` for a null pointer, and for one that the kernel refuses.
unsafe fn length(time: *const timespec) -> Option<u64> {
    // SAFETY: a caller of libc gives a time or a null pointer.
    let time = unsafe { time.as_ref() }?;
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let rest = u64::try_from(time.tv_nsec).ok().filter(|ns| *ns < SECOND)?;
    seconds.checked_mul(SECOND)?.checked_add(rest)
}

fn time(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / SECOND) as libc::time_t,
        tv_nsec: (ns % SECOND) as libc::c_long,
    }
}

/// A wait until an instant of a clock, and the instant to ask for instead.
unsafe fn until(
    call: Call,
    clock: clockid_t,
    instant: *const timespec,
) -> Option<(Wait, timespec)> {
    let clocks = [
        libc::CLOCK_MONOTONIC,
        libc::CLOCK_REALTIME,
        libc::CLOCK_BOOTTIME,
    ];
    if !clocks.contains(&clock) {
        return None;
    }
    // SAFETY: as for `length`.
    let instant = unsafe { length(instant) }?;
    // One reading serves both, or this one comes first: a thread that is preempted in between is not early.
    let now = process::now(libc::CLOCK_MONOTONIC);
    let here = match clock {
        libc::CLOCK_MONOTONIC => now,
        _ => process::now(clock),
    };
    let wait = Wait::begin_at(call, now, instant.checked_sub(here)?)?;
    Some((wait, time(instant.saturating_add_signed(wait.more()))))
}

/// The clock of an instant for a function that does not say: CLOCK_MONOTONIC counts from the start of
/// the computer, the time of day from 1970.
unsafe fn clock_of(instant: *const timespec) -> clockid_t {
    const IN_2001: i64 = 1_000_000_000;
    // SAFETY: as for `length`.
    match unsafe { instant.as_ref() } {
        Some(instant) if instant.tv_sec < IN_2001 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    }
}

/// The result of a function that libc is too old to have.
unsafe fn missing() -> c_int {
    // SAFETY: the place of this thread's error.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

unsafe fn errno() -> c_int {
    // SAFETY: the place of this thread's error.
    unsafe { *libc::__errno_location() }
}

/// Sleeps for a length, by the real `nanosleep`: what it returns, and the wait.
unsafe fn sleeps(call: Call, ns: u64) -> Option<(c_int, Wait)> {
    let real = real::nanosleep()?;
    let wait = Wait::begin(call, ns)?;
    // SAFETY: the time is of this function.
    let result = unsafe { real(&time(wait.length()), null_mut()) };
    wait.finish(result == 0);
    Some((result, wait))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn nanosleep(asked: *const timespec, left: *mut timespec) -> c_int {
    unsafe {
        let slept = length(asked).and_then(|ns| sleeps(Call::Nanosleep, ns));
        let Some((result, wait)) = slept else {
            return real::nanosleep().map_or_else(|| missing(), |real| real(asked, left));
        };
        if result != 0 && !left.is_null() {
            *left = time(wait.left());
        }
        result
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
            let result = real(clock, flags, &instant, left);
            wait.finish(result == 0);
            return result;
        }
        let is_wall = clock == libc::CLOCK_MONOTONIC || clock == libc::CLOCK_REALTIME;
        let length = length(asked).filter(|_| flags == 0 && is_wall);
        let Some(wait) = length.and_then(|ns| Wait::begin(Call::ClockNanosleep, ns)) else {
            return real(clock, flags, asked, left);
        };
        let result = real(clock, flags, &time(wait.length()), null_mut());
        wait.finish(result == 0);
        if result == libc::EINTR && !left.is_null() {
            *left = time(wait.left());
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn usleep(us: useconds_t) -> c_int {
    unsafe {
        match sleeps(Call::Usleep, u64::from(us) * 1_000) {
            Some((result, _)) => result,
            None => real::usleep().map_or_else(|| missing(), |real| real(us)),
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sleep(seconds: c_uint) -> c_uint {
    unsafe {
        match sleeps(Call::Sleep, u64::from(seconds) * SECOND) {
            Some((0, _)) => 0,
            Some((_, wait)) => (wait.left() / SECOND) as c_uint,
            None => real::sleep().map_or(seconds, |real| real(seconds)),
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
        let result = real(&time(wait.length()), null_mut());
        wait.finish(result == 0);
        if result == -1 && !left.is_null() {
            *left = time(wait.left());
        }
        result
    }
}

unsafe fn polls(
    call: Call,
    fds: *mut pollfd,
    count: nfds_t,
    ns: Option<u64>,
    mask: *const sigset_t,
) -> Option<c_int> {
    unsafe {
        let real = real::ppoll()?;
        let wait = Wait::begin(call, ns?)?;
        let result = real(fds, count, &time(wait.length()), mask);
        wait.finish(result == 0);
        Some(result)
    }
}

fn of_ms(ms: c_int) -> Option<u64> {
    Some(u64::try_from(ms).ok()? * 1_000_000)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn poll(fds: *mut pollfd, count: nfds_t, ms: c_int) -> c_int {
    unsafe {
        let native = || real::poll().map_or_else(|| missing(), |real| real(fds, count, ms));
        polls(Call::Poll, fds, count, of_ms(ms), null()).unwrap_or_else(native)
    }
}

/// `poll` under `_FORTIFY_SOURCE`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __poll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    ms: c_int,
    room: usize,
) -> c_int {
    unsafe {
        let native =
            || real::__poll_chk().map_or_else(|| missing(), |real| real(fds, count, ms, room));
        if room / size_of::<pollfd>() < count as usize {
            return native();
        }
        polls(Call::Poll, fds, count, of_ms(ms), null()).unwrap_or_else(native)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    asked: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let native =
            || real::ppoll().map_or_else(|| missing(), |real| real(fds, count, asked, mask));
        polls(Call::Ppoll, fds, count, length(asked), mask).unwrap_or_else(native)
    }
}

/// `ppoll` under `_FORTIFY_SOURCE`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    asked: *const timespec,
    mask: *const sigset_t,
    room: usize,
) -> c_int {
    unsafe {
        if room / size_of::<pollfd>() < count as usize {
            let real = real::__ppoll_chk();
            return real.map_or_else(|| missing(), |real| real(fds, count, asked, mask, room));
        }
        ppoll(fds, count, asked, mask)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn select(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    asked: *mut timeval,
) -> c_int {
    unsafe {
        let native = || {
            let real = real::select();
            real.map_or_else(
                || missing(),
                |real| real(count, reads, writes, others, asked),
            )
        };
        let length = asked.as_ref().and_then(|asked| {
            let seconds = u64::try_from(asked.tv_sec).ok()?;
            let us = u64::try_from(asked.tv_usec).ok()?;
            seconds
                .checked_mul(SECOND)?
                .checked_add(us.checked_mul(1_000)?)
        });
        let Some(real) = real::pselect() else {
            return native();
        };
        // Without any sets it is a sleep.
        let call = match reads.is_null() && writes.is_null() && others.is_null() {
            true => Call::SelectNothing,
            false => Call::Select,
        };
        let Some(wait) = length.and_then(|ns| Wait::begin(call, ns)) else {
            return native();
        };
        let result = real(count, reads, writes, others, &time(wait.length()), null());
        wait.finish(result == 0);
        // Linux says what is left.
        let left = if result == 0 { 0 } else { wait.left() };
        (*asked).tv_sec = (left / SECOND) as libc::time_t;
        (*asked).tv_usec = (left % SECOND / 1_000) as libc::suseconds_t;
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    asked: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let Some(real) = real::pselect() else {
            return missing();
        };
        let Some(wait) = length(asked).and_then(|ns| Wait::begin(Call::Pselect, ns)) else {
            return real(count, reads, writes, others, asked, mask);
        };
        let result = real(count, reads, writes, others, &time(wait.length()), mask);
        wait.finish(result == 0);
        result
    }
}

/// Waits for events of an epoll for so many nanoseconds. Before glibc 2.35 and Linux 5.11 in milliseconds.
unsafe fn epolls(
    call: Call,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    ns: Option<u64>,
    mask: *const sigset_t,
) -> Option<c_int> {
    unsafe {
        let coarse = real::epoll_pwait()?;
        let wait = Wait::begin(call, ns?)?;
        let mut result = -1;
        let fine = real::epoll_pwait2();
        if let Some(fine) = fine {
            result = fine(epoll, events, most, &time(wait.length()), mask);
        }
        if fine.is_none() || result < 0 && errno() == libc::ENOSYS {
            let ms = wait.length().div_ceil(1_000_000).min(c_int::MAX as u64);
            result = coarse(epoll, events, most, ms as c_int, mask);
        }
        wait.finish(result == 0);
        Some(result)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    ms: c_int,
) -> c_int {
    unsafe {
        let native = || {
            let real = real::epoll_wait();
            real.map_or_else(|| missing(), |real| real(epoll, events, most, ms))
        };
        epolls(Call::EpollWait, epoll, events, most, of_ms(ms), null()).unwrap_or_else(native)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let native = || {
            let real = real::epoll_pwait();
            real.map_or_else(|| missing(), |real| real(epoll, events, most, ms, mask))
        };
        epolls(Call::EpollPwait, epoll, events, most, of_ms(ms), mask).unwrap_or_else(native)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    asked: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let Some(real) = real::epoll_pwait2() else {
            return missing();
        };
        let Some(wait) = length(asked).and_then(|ns| Wait::begin(Call::EpollPwait2, ns)) else {
            return real(epoll, events, most, asked, mask);
        };
        let result = real(epoll, events, most, &time(wait.length()), mask);
        wait.finish(result == 0);
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    instant: *const timespec,
) -> c_int {
    unsafe {
        let Some(real) = real::pthread_cond_timedwait() else {
            return libc::ENOSYS;
        };
        let clock = clock_of(instant);
        let Some((wait, later)) = until(Call::CondTimedwait, clock, instant) else {
            return real(condition, mutex, instant);
        };
        let result = real(condition, mutex, &later);
        wait.finish(result == libc::ETIMEDOUT);
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    instant: *const timespec,
) -> c_int {
    unsafe {
        let Some(real) = real::pthread_cond_clockwait() else {
            return libc::ENOSYS;
        };
        let Some((wait, later)) = until(Call::CondClockwait, clock, instant) else {
            return real(condition, mutex, clock, instant);
        };
        let result = real(condition, mutex, clock, &later);
        wait.finish(result == libc::ETIMEDOUT);
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    instant: *const timespec,
) -> c_int {
    unsafe {
        let Some(real) = real::pthread_mutex_timedlock() else {
            return libc::ENOSYS;
        };
        // Most locks are free: nothing is asked of a rule then. It has the errors of the real call.
        if let Some(result) = real::pthread_mutex_trylock()
            .map(|trylock| trylock(mutex))
            .filter(|result| *result != libc::EBUSY)
        {
            return result;
        }
        let Some((wait, later)) = until(Call::MutexTimedlock, libc::CLOCK_REALTIME, instant) else {
            return real(mutex, instant);
        };
        let result = real(mutex, &later);
        wait.finish(result == libc::ETIMEDOUT);
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_timedwait(
    semaphore: *mut sem_t,
    instant: *const timespec,
) -> c_int {
    unsafe {
        let Some(real) = real::sem_timedwait() else {
            return missing();
        };
        let Some((wait, later)) = until(Call::SemTimedwait, libc::CLOCK_REALTIME, instant) else {
            return real(semaphore, instant);
        };
        let result = real(semaphore, &later);
        wait.finish(result != 0 && errno() == libc::ETIMEDOUT);
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sem_clockwait(
    semaphore: *mut sem_t,
    clock: clockid_t,
    instant: *const timespec,
) -> c_int {
    unsafe {
        let Some(real) = real::sem_clockwait() else {
            return missing();
        };
        let Some((wait, later)) = until(Call::SemClockwait, clock, instant) else {
            return real(semaphore, clock, instant);
        };
        let result = real(semaphore, clock, &later);
        wait.finish(result != 0 && errno() == libc::ETIMEDOUT);
        result
    }
}

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
        let result = real(signals, info, &time(wait.length()));
        wait.finish(result < 0 && errno() == libc::EAGAIN);
        result
    }
}

/// Calls of the kernel. A variadic function takes whole numbers as this does, on x86-64 and on AArch64.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    unsafe {
        let Some(real) = real::syscall() else {
            return c_long::from(missing());
        };
        let asked = d as *const timespec;
        let operation = b as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
        let instead = match (number, operation) {
            (libc::SYS_futex, libc::FUTEX_WAIT) => length(asked)
                .and_then(|ns| Wait::begin(Call::Futex, ns))
                .map(|wait| (wait, time(wait.length()))),
            (libc::SYS_futex, libc::FUTEX_WAIT_BITSET) => {
                let clock = match b as c_int & libc::FUTEX_CLOCK_REALTIME {
                    0 => libc::CLOCK_MONOTONIC,
                    _ => libc::CLOCK_REALTIME,
                };
                until(Call::Futex, clock, asked)
            }
            _ => None,
        };
        let Some((wait, later)) = instead else {
            return real(number, a, b, c, d, e, f);
        };
        let result = real(number, a, b, c, &raw const later as c_long, e, f);
        wait.finish(result < 0 && errno() == libc::ETIMEDOUT);
        result
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
        if let Some(page) = Page::get() {
            page.word(at::TIMERS).fetch_add(1, Relaxed);
        }
        real::timerfd_settime().map_or_else(|| missing(), |real| real(timer, flags, new, old))
    }
}
