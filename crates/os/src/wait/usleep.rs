//! `usleep`, in whole microseconds.

use super::posix::{after_error, whole_us};
use crate::clock::{self, Host};
use punctual_core::{Limit, Reason};

/// POSIX lets a system refuse a second and more.
const LONGEST_US: u32 = 999_999;

pub(super) fn block(limit: Limit<Host>) -> Reason {
    let wanted = whole_us(limit.length(clock::now()));
    let us = u32::try_from(wanted).map_or(LONGEST_US, |us| us.min(LONGEST_US));
    // SAFETY: takes a number.
    if unsafe { libc::usleep(us) } != 0 {
        return after_error(limit);
    }
    if u64::from(us) < wanted {
        Reason::Interrupted
    } else {
        Reason::Timer
    }
}
