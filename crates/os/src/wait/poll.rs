//! `poll` on nothing, in whole milliseconds.

use super::posix::{after_error, whole_ms};
use crate::clock::{self, Host};
use punctual_core::{Limit, Reason};
use std::ptr;

pub(super) fn block(limit: Limit<Host>) -> Reason {
    let timeout = whole_ms(limit.length(clock::now()));
    // SAFETY: there are no descriptors, which zero and the null pointer say.
    match unsafe { libc::poll(ptr::null_mut(), 0, timeout) } {
        0 => Reason::Timer,
        _ => after_error(limit),
    }
}
