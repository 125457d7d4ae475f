//! `prctl(PR_SET_TIMERSLACK)`.
//!
//! Through `syscall`, because the C library cuts the answer of
//! `PR_GET_TIMERSLACK` down to an int, so slack above 2.1 s would look negative.

pub(super) use super::process::{of, restore, set_of, started, threads};
use crate::Error;
use libc::{PR_GET_TIMERSLACK, PR_SET_TIMERSLACK, SYS_prctl, c_ulong, syscall};
use punctual_core::Nanos;

pub(super) fn current() -> Option<Nanos> {
    // SAFETY: reads one number of this thread; no pointers.
    let slack = unsafe { syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0) };
    u64::try_from(slack).ok().map(Nanos::new)
}

/// Zero resets the thread to its default slack, which the guard relies on for a
/// real-time thread, whose slack reads as zero.
pub(super) fn set(slack: Nanos) -> Result<Nanos, Error> {
    if !put(slack) {
        return Err(Error::last_os(format_args!(
            "setting timer slack to {slack}"
        )));
    }
    current().ok_or_else(|| Error::last_os("reading timer slack back"))
}

/// Calls with the least slack there is, 1 ns, and brings back the slack that
/// the thread had just before. Without a call that could change it, it calls
/// as things stand.
///
/// What the thread had is read each time, a system call of about 100 ns: the
/// thread itself may have changed it since the last time, and any process that
/// may trace this one too (`/proc/PID/timerslack_ns`). A thread that has no more
/// slack than that, such as a real-time one, pays for the reading only.
pub(crate) fn without<T>(call: impl FnOnce() -> T) -> T {
    const LEAST: Nanos = Nanos::new(1);
    match current() {
        Some(before) if before > LEAST && put(LEAST) => {
            let answer = call();
            // It was in force before, so the system takes it back.
            put(before);
            answer
        }
        _ => call(),
    }
}

/// Sets the slack, and says whether the system took it.
fn put(slack: Nanos) -> bool {
    let ns = c_ulong::try_from(slack.as_ns()).unwrap_or(c_ulong::MAX);
    // SAFETY: sets one number of this thread; no pointers.
    unsafe { syscall(SYS_prctl, PR_SET_TIMERSLACK, ns, 0, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_lowered_for_the_call_and_comes_back() {
        // In a thread of its own, because slack stays with the thread.
        let apart = std::thread::spawn(|| {
            // What counts is what it was just before.
            for before in [Nanos::from_us(50), Nanos::from_us(7)] {
                assert_eq!(set(before).unwrap(), before);
                assert_eq!(without(current), Some(Nanos::new(1)));
                assert_eq!(current(), Some(before));
            }
            set(Nanos::new(1)).unwrap();
            assert_eq!(without(current), Some(Nanos::new(1)));
            assert_eq!(current(), Some(Nanos::new(1)));
        });
        apart.join().unwrap();
    }
}
