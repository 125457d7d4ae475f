//! `nanosleep`, for the length that is left.

use super::posix::{after_error, timespec_of};
use crate::clock::{self, Host};
use punctual_core::{Limit, Reason};

pub(super) fn block(limit: Limit<Host>) -> Reason {
    let request = timespec_of(limit.length(clock::now()).as_ns());
    // SAFETY: `request` is a valid timespec with less than 10^9 nanoseconds, and
    // no remainder is asked for, which the null pointer says.
    if unsafe { libc::nanosleep(&request, std::ptr::null_mut()) } == 0 {
        return Reason::Timer;
    }
    after_error(limit)
}
