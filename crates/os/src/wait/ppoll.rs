//! `ppoll` on nothing: `poll` with a timeout in nanoseconds.

use super::posix::{after_error, timespec_of};
use crate::clock::{self, Host};
use punctual_core::{Limit, Reason};
use std::ptr;

pub(super) fn block(limit: Limit<Host>) -> Reason {
    let timeout = timespec_of(limit.length(clock::now()).as_ns());
    // SAFETY: there are no descriptors and no signal mask, which zero and the
    // null pointers say, and `timeout` is a valid timespec.
    match unsafe { libc::ppoll(ptr::null_mut(), 0, &timeout, ptr::null()) } {
        0 => Reason::Timer,
        _ => after_error(limit),
    }
}
