//! The functions of libc that wait.
//!
//! Each asks the real function for what the rule makes of the length, and leaves to it everything else: signals,
//! cancellation, errors. Nothing here has a destructor, so a thread that is cancelled unwinds through it.
//!
//! A wait that keeps its length is the call of the program as it is. Others are made by the function with the finest
//! length. A filter of the program (seccomp) may refuse that, and an old kernel lacks it. Then the function that the
//! program called makes it, with its length rounded up.
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

use super::process;
use super::wait::{Until, Wait, errno, set_errno};
use super::{java, on_time, real};
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

/// A wait until an instant of a clock, and the instant in nanoseconds.
unsafe fn until(call: Call, clock: clockid_t, instant: *const timespec) -> Option<(Wait, u64)> {
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
    let due = match instant.checked_sub(here) {
        Some(left) => now.saturating_add(left),
        None => now.saturating_sub(here - instant),
    };
    let until = Until { clock, ns: instant };
    let until = Some(until).filter(|_| clock != libc::CLOCK_MONOTONIC);
    let wait = Wait::begin_at(call, now, due, until)?;
    Some((wait, instant))
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

/// Makes a call with a fine length. Where that is refused, it makes another.
fn or_coarser(fine: impl FnOnce() -> c_int, coarse: impl FnOnce() -> c_int) -> c_int {
    let before = errno();
    let result = fine();
    if result >= 0 || ![libc::ENOSYS, libc::EPERM].contains(&errno()) {
        return result;
    }
    set_errno(before);
    coarse()
}

/// Sleeps for a length, by the native call or the real `nanosleep`: what it returns, and the wait.
unsafe fn sleeps(call: Call, ns: u64, native: impl FnOnce() -> c_int) -> Option<(c_int, Wait)> {
    let real = real::nanosleep()?;
    let wait = Wait::begin(call, ns)?;
    // SAFETY: the time is of this function.
    let real = |length| unsafe { real(&time(length), null_mut()) };
    let result = wait.by(native, |ask| real(ask.length), |result| result == 0);
    Some((result, wait))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn nanosleep(asked: *const timespec, left: *mut timespec) -> c_int {
    unsafe {
        let native = || real::nanosleep().map_or_else(|| missing(), |real| real(asked, left));
        let slept = length(asked).and_then(|ns| sleeps(Call::Nanosleep, ns, native));
        let Some((result, wait)) = slept else {
            return native();
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
        let slept = sleeps(Call::Usleep, u64::from(us) * 1_000, native);
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
        let slept = sleeps(Call::Sleep, ns, || {
            real::nanosleep().map_or_else(|| missing(), |real| real(&time(ns), &mut left))
        });
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

/// Polls for so many nanoseconds, by `ppoll`; where that is refused, by `coarse` with a length.
unsafe fn polls(
    call: Call,
    (fds, count): (*mut pollfd, nfds_t),
    ns: Option<u64>,
    mask: *const sigset_t,
    native: impl Fn() -> c_int,
    coarse: impl Fn(u64) -> c_int,
) -> c_int {
    let Some(fine) = real::ppoll() else {
        return native();
    };
    let Some(wait) = ns.and_then(|ns| Wait::begin(call, ns)) else {
        return native();
    };
    let fine = |length| unsafe { fine(fds, count, &time(length), mask) };
    wait.by(
        native,
        |ask| or_coarser(|| fine(ask.length), || coarse(ask.length)),
        |result| result == 0,
    )
}

fn of_ms(ms: c_int) -> Option<u64> {
    Some(u64::try_from(ms).ok()? * 1_000_000)
}

/// In milliseconds, rounded up.
fn to_ms(ns: u64) -> c_int {
    ns.div_ceil(1_000_000).min(c_int::MAX as u64) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn poll(fds: *mut pollfd, count: nfds_t, ms: c_int) -> c_int {
    unsafe {
        let plain = |ms| real::poll().map_or_else(|| missing(), |real| real(fds, count, ms));
        polls(
            Call::Poll,
            (fds, count),
            of_ms(ms),
            null(),
            || plain(ms),
            |ns| plain(to_ms(ns)),
        )
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
        if room / size_of::<pollfd>() < count as usize {
            let real = real::__poll_chk();
            return real.map_or_else(|| missing(), |real| real(fds, count, ms, room));
        }
        poll(fds, count, ms)
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
        let ns = length(asked);
        polls(Call::Ppoll, (fds, count), ns, mask, native, |_| native())
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
        let wait = length.and_then(|ns| Wait::begin(call, ns));
        let (Some(wait), Some(sets)) = (wait, Sets::of(count, [reads, writes, others])) else {
            return native();
        };
        let fine = |ns| {
            sets.restore();
            real(count, reads, writes, others, &time(ns), null())
        };
        let coarse = |ns: u64| {
            let us = ns.div_ceil(1_000);
            (*asked).tv_sec = (us / 1_000_000) as libc::time_t;
            (*asked).tv_usec = (us % 1_000_000) as libc::suseconds_t;
            native()
        };
        let result = wait.by(
            native,
            |ask| or_coarser(|| fine(ask.length), || coarse(ask.length)),
            |result| result == 0,
        );
        // Linux says what is left.
        if let Some(left) = wait.left() {
            let left = if result == 0 { 0 } else { left };
            (*asked).tv_sec = (left / SECOND) as libc::time_t;
            (*asked).tv_usec = (left % SECOND / 1_000) as libc::suseconds_t;
        }
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
        let wait = length(asked).and_then(|ns| Wait::begin(Call::Pselect, ns));
        let (Some(wait), Some(sets)) = (wait, Sets::of(count, [reads, writes, others])) else {
            return real(count, reads, writes, others, asked, mask);
        };
        wait.by(
            || real(count, reads, writes, others, asked, mask),
            |ask| {
                sets.restore();
                real(count, reads, writes, others, &time(ask.length), mask)
            },
            |result| result == 0,
        )
    }
}

/// The sets of descriptors of a `select`, which each call writes to.
#[derive(Clone, Copy)]
struct Sets {
    places: [*mut fd_set; 3],
    kept: [fd_set; 3],
    bytes: usize,
}

impl Sets {
    /// Keeps what is in the sets; `None` if they are larger than sets mostly are.
    unsafe fn of(count: c_int, places: [*mut fd_set; 3]) -> Option<Self> {
        let words = usize::try_from(count).ok()?.div_ceil(64);
        let bytes = (words <= size_of::<fd_set>() / 8).then_some(8 * words)?;
        // SAFETY: a set is a mask of bits, for which zeros are a value.
        let mut kept: [fd_set; 3] = unsafe { std::mem::zeroed() };
        for (kept, place) in kept.iter_mut().zip(places).filter(|(_, it)| !it.is_null()) {
            // SAFETY: the kernel reads and writes so many bytes of each set.
            unsafe { (place.cast::<u8>()).copy_to_nonoverlapping((&raw mut *kept).cast(), bytes) };
        }
        Some(Self {
            places,
            kept,
            bytes,
        })
    }

    unsafe fn restore(&self) {
        for (kept, place) in (self.kept.iter().zip(self.places)).filter(|(_, it)| !it.is_null()) {
            // SAFETY: as above.
            unsafe { (place.cast::<u8>()).copy_from((&raw const *kept).cast(), self.bytes) };
        }
    }
}

/// Waits for events of an epoll for so many milliseconds by `plain`, the call of the program. A wait of another length is one
/// of `epoll_pwait2`, where libc and the kernel have it (glibc 2.35, Linux 5.11).
unsafe fn epolls(
    call: Call,
    (epoll, events, most): (c_int, *mut epoll_event, c_int),
    ms: c_int,
    mask: *const sigset_t,
    plain: impl Fn(c_int) -> c_int,
) -> c_int {
    let fine = real::epoll_pwait2();
    if fine.is_none() && on_time::takes_part() {
        // Whole milliseconds are what the caller asks for.
        return plain(ms);
    }
    let Some(wait) = of_ms(ms).and_then(|ns| Wait::begin(call, ns)) else {
        return plain(ms);
    };
    let coarse = |length| plain(to_ms(length));
    let real = |length: u64| match fine {
        None => coarse(length),
        Some(fine) => or_coarser(
            || unsafe { fine(epoll, events, most, &time(length), mask) },
            || coarse(length),
        ),
    };
    wait.by(|| plain(ms), |ask| real(ask.length), |result| result == 0)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    ms: c_int,
) -> c_int {
    unsafe {
        let plain = |ms| {
            let real = real::epoll_wait();
            real.map_or_else(|| missing(), |real| real(epoll, events, most, ms))
        };
        epolls(Call::EpollWait, (epoll, events, most), ms, null(), plain)
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
        let plain = |ms| {
            let real = real::epoll_pwait();
            real.map_or_else(|| missing(), |real| real(epoll, events, most, ms, mask))
        };
        epolls(Call::EpollPwait, (epoll, events, most), ms, mask, plain)
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
        wait.by(
            || real(epoll, events, most, asked, mask),
            |ask| real(epoll, events, most, &time(ask.length), mask),
            |result| result == 0,
        )
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
        let call = java::condition_call(condition, mutex);
        let Some((wait, instant_ns)) = until(call, clock, instant) else {
            return real(condition, mutex, instant);
        };
        wait.by(
            || real(condition, mutex, instant),
            |ask| real(condition, mutex, &time(ask.instant(instant_ns))),
            |result| result == libc::ETIMEDOUT,
        )
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
        let Some((wait, instant_ns)) = until(Call::CondClockwait, clock, instant) else {
            return real(condition, mutex, clock, instant);
        };
        wait.by(
            || real(condition, mutex, clock, instant),
            |ask| real(condition, mutex, clock, &time(ask.instant(instant_ns))),
            |result| result == libc::ETIMEDOUT,
        )
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
        let Some((wait, instant_ns)) = until(Call::MutexTimedlock, libc::CLOCK_REALTIME, instant)
        else {
            return real(mutex, instant);
        };
        wait.by(
            || real(mutex, instant),
            |ask| real(mutex, &time(ask.instant(instant_ns))),
            |result| result == libc::ETIMEDOUT,
        )
    }
}

/// Takes a semaphore that is posted: a wait with such an instant does not begin then. It has the errors of the real call.
unsafe fn is_posted(semaphore: *mut sem_t, instant: *const timespec) -> bool {
    unsafe {
        if length(instant).is_none() {
            return false;
        }
        // A wait ends a cancelled thread, whether it waits or not.
        process::test_cancel();
        let before = errno();
        let is_taken = real::sem_trywait().is_some_and(|trywait| trywait(semaphore) == 0);
        set_errno(before);
        is_taken
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
        if is_posted(semaphore, instant) {
            return 0;
        }
        let Some((wait, instant_ns)) = until(Call::SemTimedwait, libc::CLOCK_REALTIME, instant)
        else {
            return real(semaphore, instant);
        };
        wait.by(
            || real(semaphore, instant),
            |ask| real(semaphore, &time(ask.instant(instant_ns))),
            |result| result != 0 && errno() == libc::ETIMEDOUT,
        )
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
        if is_posted(semaphore, instant) {
            return 0;
        }
        let Some((wait, instant_ns)) = until(Call::SemClockwait, clock, instant) else {
            return real(semaphore, clock, instant);
        };
        wait.by(
            || real(semaphore, clock, instant),
            |ask| real(semaphore, clock, &time(ask.instant(instant_ns))),
            |result| result != 0 && errno() == libc::ETIMEDOUT,
        )
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
        wait.by(
            || real(signals, info, asked),
            |ask| real(signals, info, &time(ask.length)),
            |result| result < 0 && errno() == libc::EAGAIN,
        )
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
                .map(|wait| (wait, None)),
            (libc::SYS_futex, libc::FUTEX_WAIT_BITSET) => {
                let clock = match b as c_int & libc::FUTEX_CLOCK_REALTIME {
                    0 => libc::CLOCK_MONOTONIC,
                    _ => libc::CLOCK_REALTIME,
                };
                until(Call::Futex, clock, asked).map(|(wait, instant)| (wait, Some(instant)))
            }
            _ => None,
        };
        let Some((wait, instant)) = instead else {
            return real(number, a, b, c, d, e, f);
        };
        wait.by(
            || real(number, a, b, c, d, e, f),
            |ask| {
                let later = time(instant.map_or(ask.length, |instant| ask.instant(instant)));
                real(number, a, b, c, &raw const later as c_long, e, f)
            },
            |result| result < 0 && errno() == libc::ETIMEDOUT,
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
