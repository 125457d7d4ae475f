//! Scoped changes to how the system treats waiting.

use std::cell::Cell;
use std::mem::forget;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use punctual::Error;
use punctual::guard::{
    HonouredRequests, Priority, ThreadPriority, TimerResolution, TimerSlack, WakeupLatency,
};

use crate::pointer::{Out, told};
use crate::result::{called, punctual_result};
use crate::waiter::as_ns;

/// A system setting that makes the waits of other code more accurate; it is in force until it is
/// freed. Waits of this library do not need it.
pub struct punctual_guard {
    kind: Kind,
    /// In which it was made.
    thread: u64,
}

/// Which thread this is, of all that there ever were, without what the standard library keeps of
/// one.
fn this_thread() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    thread_local!(static NUMBER: Cell<u64> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
        }
        number.get()
    })
}

enum Kind {
    Resolution(TimerResolution),
    Honoured(HonouredRequests),
    Slack(TimerSlack),
    Latency { _held: WakeupLatency },
    Priority { _held: ThreadPriority },
}

impl Kind {
    fn is_of_thread(&self) -> bool {
        matches!(self, Self::Slack(_) | Self::Priority { .. })
    }
}

/// Asks Windows for this interval between its clock interrupts. If the computer runs on battery
/// now, asks for `on_battery_ns` instead; 0 selects the same.
///
/// `PUNCTUAL_RESULT_UNSUPPORTED` except on Windows, `PUNCTUAL_RESULT_RANGE` for an interval that
/// this computer does not have. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_guard_hold_timer_resolution(
    interval_ns: u64,
    on_battery_ns: u64,
    guard_out: *mut *mut punctual_guard,
) -> punctual_result {
    let [interval, on_battery] = [interval_ns, on_battery_ns].map(Duration::from_nanos);
    // SAFETY: as this header says.
    unsafe {
        hold(guard_out, || {
            let held = match on_battery_ns {
                0 => TimerResolution::hold(interval),
                _ => TimerResolution::hold_or_on_battery(interval, on_battery),
            };
            held.map(Kind::Resolution)
        })
    }
}

/// Makes Windows 11 apply the timer resolution also while this process is neither visible nor
/// audible.
///
/// `PUNCTUAL_RESULT_UNSUPPORTED` before Windows 11 and elsewhere. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_guard_hold_honoured_requests(
    guard_out: *mut *mut punctual_guard,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe { hold(guard_out, || HonouredRequests::hold().map(Kind::Honoured)) }
}

/// Sets the timer slack of this thread on Linux: by how much the system may end its sleeps late.
/// Threads that it starts meanwhile inherit the slack. Free the guard in the same thread; in
/// another one, the slack stays as it is.
///
/// `PUNCTUAL_RESULT_UNSUPPORTED` except on Linux, `PUNCTUAL_RESULT_RANGE` for 0 and above
/// `INT64_MAX` (292 years), on 32-bit processors above `INT32_MAX`. After an error the slack is
/// unchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_guard_hold_timer_slack(
    slack_ns: u64,
    guard_out: *mut *mut punctual_guard,
) -> punctual_result {
    let slack = Duration::from_nanos(slack_ns);
    // SAFETY: as this header says.
    unsafe { hold(guard_out, || TimerSlack::hold(slack).map(Kind::Slack)) }
}

/// Keeps the CPUs of this Linux computer out of idle states that take longer than `limit_ns` to
/// leave.
///
/// `PUNCTUAL_RESULT_UNSUPPORTED` except on Linux, `PUNCTUAL_RESULT_PERMISSION` usually except for
/// root, `PUNCTUAL_RESULT_RANGE` above half an hour. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_guard_hold_wakeup_latency(
    limit_ns: u64,
    guard_out: *mut *mut punctual_guard,
) -> punctual_result {
    let limit = Duration::from_nanos(limit_ns);
    // SAFETY: as this header says.
    unsafe {
        hold(guard_out, || {
            WakeupLatency::hold(limit).map(|held| Kind::Latency { _held: held })
        })
    }
}

/// The priority of a thread, from lowest to highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum punctual_priority {
    /// Runs only when no other thread wants to.
    Background = 0,
    /// Below the default.
    Utility = 1,
    /// The default of a thread.
    Normal = 2,
    /// For work that the user is waiting for.
    Interactive = 3,
    /// Runs before all other threads. Such a thread must not spin.
    RealTime = 4,
}

/// Sets the `punctual_priority` of this thread. Free the guard in the same thread; in another one,
/// the priority stays as it is.
///
/// `PUNCTUAL_RESULT_PERMISSION` on Linux without a limit that allows it,
/// `PUNCTUAL_RESULT_UNSUPPORTED` where the system has no such priority.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_guard_hold_thread_priority(
    priority: u32,
    guard_out: *mut *mut punctual_guard,
) -> punctual_result {
    let all = [
        Priority::Background,
        Priority::Utility,
        Priority::Normal,
        Priority::Interactive,
        Priority::RealTime,
    ];
    // SAFETY: as this header says.
    unsafe {
        hold(guard_out, || {
            let priority = all.get(priority as usize);
            let priority = priority.ok_or_else(|| Error::range("no priority"))?;
            ThreadPriority::hold(*priority).map(|held| Kind::Priority { _held: held })
        })
    }
}

/// # Safety
/// Null, or room for a pointer.
unsafe fn hold(
    guard_out: *mut *mut punctual_guard,
    hold: impl FnOnce() -> Result<Kind, Error>,
) -> punctual_result {
    called(|| {
        // SAFETY: the caller's obligation.
        let out = unsafe { Out::of(guard_out) }?;
        out.give(punctual_guard {
            kind: uncancelled(hold)?,
            thread: this_thread(),
        });
        Ok(())
    })
}

/// Calls with `pthread_cancel` put off. Guards read and open files, which are cancellation
/// points on Linux, and its unwinding would abort the process in Rust's frames.
fn uncancelled<T>(call: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::c_int;

        unsafe extern "C" {
            fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
        }
        /// `PTHREAD_CANCEL_DISABLE` of glibc and musl.
        const DISABLE: c_int = 1;

        let (mut before, mut ours) = (0, 0);
        // SAFETY: `before` is a valid place for a number.
        unsafe { pthread_setcancelstate(DISABLE, &mut before) };
        let done = call();
        // SAFETY: `ours` is a valid place for a number, and `before` was the state.
        unsafe { pthread_setcancelstate(before, &mut ours) };
        done
    }
    #[cfg(not(target_os = "linux"))]
    call()
}

/// Returns the granted value: the interval in force now for a timer resolution, the slack for a
/// timer slack.
///
/// `PUNCTUAL_RESULT_UNSUPPORTED` for the other guards, which have no such value. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_guard_granted_ns(
    guard: *const punctual_guard,
    granted_ns: *mut u64,
) -> punctual_result {
    let granted = |guard: &punctual_guard| match &guard.kind {
        Kind::Resolution(resolution) => Ok(as_ns(resolution.granted()?)),
        Kind::Slack(slack) => Ok(as_ns(slack.granted())),
        _ => Err(punctual_result::Unsupported),
    };
    // SAFETY: as this header says.
    unsafe { told(guard, granted_ns, granted) }
}

/// Frees a guard, which ends its setting; null is ignored. Guards of a thread must be freed in that
/// thread, other guards in any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_guard_free(guard: *mut punctual_guard) {
    if guard.is_null() {
        return;
    }
    // SAFETY: as this header says.
    let held = *unsafe { Box::from_raw(guard) };
    if held.kind.is_of_thread() && held.thread != this_thread() {
        // It would restore the state of another thread.
        forget(held);
    } else {
        uncancelled(|| drop(held));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the first had what is its own, the second may have.
    #[test]
    fn a_thread_is_not_taken_for_one_that_has_ended() {
        let [one, other] = [(); 2].map(|()| std::thread::spawn(this_thread).join().unwrap());
        assert_ne!(one, other);
    }
}
