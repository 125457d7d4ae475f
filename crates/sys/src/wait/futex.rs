//! `FUTEX_WAIT_BITSET` on a word that nobody changes, until an instant of the
//! monotonic clock: the call that other blocking calls of a C library end in.

use super::clock_nanosleep::end_of;
use super::posix::timespec_of;
use crate::clock::Host;
use crate::wait::sleeper::common::thread_sleep;
use libc::{FUTEX_PRIVATE_FLAG, FUTEX_WAIT_BITSET, SYS_futex};
use punctual_core::{Limit, Reason};
use std::{io, ptr};

pub(super) fn block(limit: Limit<Host>) -> Reason {
    // On this thread's stack, where no other thread knows of it.
    let word = 0_u32;
    let every_waker = u32::MAX;
    let deadline = timespec_of(end_of(limit).as_ns());
    // SAFETY: the word and the timespec live until the call returns; the second
    // word is not used by this operation.
    let answer = unsafe {
        libc::syscall(
            SYS_futex,
            &raw const word,
            FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
            word,
            &raw const deadline,
            ptr::null::<u32>(),
            every_waker,
        )
    };
    if answer == 0 {
        // Woken, though nobody has the word: a wake that was meant for another
        // word which lay in this place before (futex(2)).
        return Reason::Interrupted;
    }
    match io::Error::last_os_error().kind() {
        io::ErrorKind::TimedOut => Reason::Timer,
        io::ErrorKind::Interrupted => Reason::Interrupted,
        _ => thread_sleep(limit),
    }
}
