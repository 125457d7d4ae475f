//! The times when this process was stopped: by Ctrl-Z, by SIGSTOP, or with the whole computer.
//!
//! A process cannot see that it is stopped. It sees SIGCONT, which ends every stop
//! but those of a debugger, and two clocks of which one counts a suspend.

use crate::clock::Tick;
use punctual_core::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When the process went on, in nanoseconds of the clock; zero for never.
static ENDS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// From now on, notes when the process goes on after a stop. To ask again changes
/// nothing. It takes the place of a handler of SIGCONT that the program has set.
///
/// # Platform notes
/// Unix. Elsewhere nothing is noted.
pub fn note() {
    #[cfg(unix)]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let handler: extern "C" fn(libc::c_int) = went_on;
            // SAFETY: all fields of a sigaction may be zero; the handler makes only calls
            // that are safe in one, and touches nothing but atomics.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handler as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(libc::SIGCONT, &action, std::ptr::null_mut());
            }
        });
    }
}

/// The handler of SIGCONT, signal(7).
#[cfg(unix)]
extern "C" fn went_on(_signal: libc::c_int) {
    /// How often it did.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed) % ENDS.len() as u64;
    ENDS[number as usize].store(crate::clock::now().as_ns(), Ordering::Release);
}

/// The instants at which this process went on after a stop, as far as they were
/// [noted](note): the latest 64, in no order.
pub fn ends() -> Vec<Tick> {
    let ends = ENDS.iter().map(|end| end.load(Ordering::Acquire));
    ends.filter(|&end| end > 0).map(Tick::from_ns).collect()
}

/// The time of day, in nanoseconds since 1970 in UTC; a time that does not fit is the nearest that
/// does.
pub fn time_of_day_ns() -> i64 {
    let signed = |length: Duration| i64::try_from(length.as_nanos()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => signed(since),
        Err(before) => -signed(before.duration()),
    }
}

/// How long this computer was suspended since it started, where that is told.
///
/// # Platform notes
/// Linux, as `CLOCK_BOOTTIME` less `CLOCK_MONOTONIC`: two readings, so that it is
/// exact to some microseconds.
pub fn suspended() -> Option<Nanos> {
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return None;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let running = crate::clock::now().as_ns();
        let since_boot = crate::probe::now_ns::<{ libc::CLOCK_BOOTTIME }>();
        (since_boot > 0).then(|| Nanos::new(since_boot.saturating_sub(running)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspend_is_not_taken_back() {
        let slack = Nanos::from_ms(100);
        if let (Some(before), Some(after)) = (suspended(), suspended()) {
            assert!(after + slack >= before);
        }
    }

    #[cfg(unix)]
    #[test]
    fn to_go_on_is_noted() {
        note();
        let before = crate::clock::now();
        // SAFETY: sends a signal to the calling thread, which has a handler for it.
        unsafe { libc::raise(libc::SIGCONT) };
        let after = crate::clock::now();
        assert!(ends().iter().any(|end| (before..=after).contains(end)));
    }
}
