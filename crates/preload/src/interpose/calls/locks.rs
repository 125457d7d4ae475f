//! Conditions, mutexes, semaphores, and the futex below them.

use libc::{c_int, c_long, clockid_t, pthread_cond_t, pthread_mutex_t, sem_t, timespec};

use super::super::notifications::{self, Condition};
use super::super::wait::{Ask, Wait, errno, set_errno};
use super::super::{java, process, real};
use super::{clock_of, length, missing, time, until};
use crate::Call;

/// Waits by `real` until an instant of a clock, as the rule has it. `look` answers at once; `real` would block even for an
/// instant in the past. `is_timer` is as for [`Wait::by`].
unsafe fn wait_until(
    call: Call,
    clock: clockid_t,
    instant: *const timespec,
    real: impl Fn(*const timespec) -> c_int,
    look: impl Fn() -> c_int,
    is_timer: impl Fn(c_int) -> bool,
) -> c_int {
    match unsafe { until(call, clock, instant) } {
        Some((wait, instant_ns)) => wait.by(
            || real(instant),
            |ask| match ask {
                Ask::NOTHING => look(),
                _ => real(&time(ask.instant(instant_ns))),
            },
            is_timer,
        ),
        None => real(instant),
    }
}

/// The same for a condition variable.
unsafe fn wait_for_notification(
    call: Call,
    (condition, mutex): (*const pthread_cond_t, *mut pthread_mutex_t),
    clock: clockid_t,
    instant: *const timespec,
    real: impl Fn(*const timespec) -> c_int,
) -> c_int {
    match unsafe { until(call, clock, instant) } {
        Some((wait, instant_ns)) => {
            let condition = unsafe { Condition::new(condition, mutex) };
            wait.notified_by(condition).by(
                || real(instant),
                |ask| real(&time(ask.instant(instant_ns))),
                is_timed_out,
            )
        }
        None => real(instant),
    }
}

/// Whether a function of pthread ended by its timeout.
fn is_timed_out(result: c_int) -> bool {
    result == libc::ETIMEDOUT
}

/// Whether a function of semaphores ended by its timeout.
fn has_error_of_timeout(result: c_int) -> bool {
    result != 0 && errno() == libc::ETIMEDOUT
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
        let real = |instant| real(condition, mutex, instant);
        wait_for_notification(call, (condition, mutex), clock, instant, real)
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
        let real = |instant| real(condition, mutex, clock, instant);
        let call = Call::CondClockwait;
        wait_for_notification(call, (condition, mutex), clock, instant, real)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int {
    unsafe { notify(condition, real::pthread_cond_signal()) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int {
    unsafe { notify(condition, real::pthread_cond_broadcast()) }
}

/// Notifies a condition variable by `real`, and those of its waits that spin.
unsafe fn notify(
    condition: *mut pthread_cond_t,
    real: Option<unsafe extern "C-unwind" fn(*mut pthread_cond_t) -> c_int>,
) -> c_int {
    notifications::note(condition);
    real.map_or(libc::ENOSYS, |real| unsafe { real(condition) })
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
        // It has the errors of the real call.
        let look = || {
            let result = real::pthread_mutex_trylock().map(|trylock| trylock(mutex));
            let result = result.filter(|result| *result != libc::EBUSY);
            result.unwrap_or(libc::ETIMEDOUT)
        };
        // Most locks are free: nothing is asked of a rule then.
        let result = look();
        if !is_timed_out(result) {
            return result;
        }
        let (call, clock) = (Call::MutexTimedlock, libc::CLOCK_REALTIME);
        let real = |instant| real(mutex, instant);
        wait_until(call, clock, instant, real, look, is_timed_out)
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
        let is_taken = look_at(semaphore) == 0;
        set_errno(before);
        is_taken
    }
}

/// Takes a semaphore that is posted; else returns at once, as if the time were over.
unsafe fn look_at(semaphore: *mut sem_t) -> c_int {
    let trywait = real::sem_trywait();
    if trywait.is_some_and(|trywait| unsafe { trywait(semaphore) } == 0) {
        return 0;
    }
    set_errno(libc::ETIMEDOUT);
    -1
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
        let (call, clock) = (Call::SemTimedwait, libc::CLOCK_REALTIME);
        let real = |instant| real(semaphore, instant);
        let look = || look_at(semaphore);
        wait_until(call, clock, instant, real, look, has_error_of_timeout)
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
        let call = Call::SemClockwait;
        let real = |instant| real(semaphore, clock, instant);
        let look = || look_at(semaphore);
        wait_until(call, clock, instant, real, look, has_error_of_timeout)
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
        // The kernel compares the word with the expected value, and wakes and moves no thread.
        let look = || {
            let compare =
                c_long::from(libc::FUTEX_CMP_REQUEUE | b as c_int & libc::FUTEX_PRIVATE_FLAG);
            let result = real(number, a, compare, 0, 0, a, c);
            // A filter of the program may refuse this.
            if result >= 0 || ![libc::EAGAIN, libc::EFAULT].contains(&errno()) {
                set_errno(libc::ETIMEDOUT);
            }
            -1
        };
        wait.by(
            || real(number, a, b, c, d, e, f),
            |ask| {
                if ask == Ask::NOTHING {
                    return look();
                }
                let later = time(instant.map_or(ask.length, |instant| ask.instant(instant)));
                real(number, a, b, c, &raw const later as c_long, e, f)
            },
            |result| result < 0 && errno() == libc::ETIMEDOUT,
        )
    }
}
