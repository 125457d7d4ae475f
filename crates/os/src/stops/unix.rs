//! SIGCONT, signal(7).

use crate::clock::{self, Tick};
use punctual_core::Nanos;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// When the process went on, in nanoseconds of the clock; zero for never.
static ENDS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// How often it did.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(super) fn note() {
    static ONCE: Once = Once::new();
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

extern "C" fn went_on(_signal: libc::c_int) {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    ENDS[number % ENDS.len()].store(clock::now().as_ns(), Ordering::Release);
}

pub(super) fn ends() -> Vec<Tick> {
    let ends = ENDS.iter().map(|end| end.load(Ordering::Acquire));
    ends.filter(|&end| end > 0).map(Tick::from_ns).collect()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn suspended() -> Option<Nanos> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let running = clock::now().as_ns();
    // SAFETY: `time` is a valid place for one timespec.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) };
    let since_boot = Nanos::from_secs(time.tv_sec as u64) + Nanos::new(time.tv_nsec as u64);
    (answer == 0).then(|| Nanos::new(since_boot.as_ns().saturating_sub(running)))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn suspended() -> Option<Nanos> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_go_on_is_noted() {
        note();
        let before = clock::now();
        // SAFETY: sends a signal to the calling thread, which has a handler for it.
        unsafe { libc::raise(libc::SIGCONT) };
        let after = clock::now();
        assert!(ends().iter().any(|end| (before..=after).contains(end)));
    }
}
