//! `prctl(PR_SET_TIMERSLACK)`.
//!
//! Through `syscall`, because the C library cuts the answer of
//! `PR_GET_TIMERSLACK` down to an int, so slack above 2.1 s would look negative.

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
    let ns = c_ulong::try_from(slack.as_ns()).unwrap_or(c_ulong::MAX);
    // SAFETY: sets one number of this thread; no pointers.
    let failed = unsafe { syscall(SYS_prctl, PR_SET_TIMERSLACK, ns, 0, 0, 0) } != 0;
    if failed {
        return Err(Error::last_os(format_args!(
            "setting timer slack to {slack}"
        )));
    }
    current().ok_or_else(|| Error::last_os("reading timer slack back"))
}
