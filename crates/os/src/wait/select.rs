//! `select` on nothing, in whole microseconds.

use super::posix::{after_error, whole_us};
use crate::clock::{self, Host};
use libc::timeval;
use punctual_core::{Limit, Reason};
use std::ptr;

pub(super) fn block(limit: Limit<Host>) -> Reason {
    let us = whole_us(limit.length(clock::now()));
    let mut timeout = timeval {
        tv_sec: (us / 1_000_000) as _,
        tv_usec: (us % 1_000_000) as _,
    };
    let none = ptr::null_mut;
    // SAFETY: there are no descriptors, which zero and the null pointers say,
    // and `timeout` is a valid timeval that the call may write to.
    match unsafe { libc::select(0, none(), none(), none(), &mut timeout) } {
        0 => Reason::Timer,
        _ => after_error(limit),
    }
}
