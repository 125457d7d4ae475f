//! The calls of Linux where a sandbox refuses some of them.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

#[path = "../../sys/tests/apart/mod.rs"]
mod apart;

use apart::{FUTEX, NANOSLEEP, OWN_SLACK, PPOLL, PRCTL, apart, refuse};
use libc::{c_int, c_long};
use punctual_core::{Driver, Limit, Method, Nanos};
use punctual_os::wait::{Sleeper, methods};
use punctual_os::{clock, slack};

/// Every call blocks, or something else does, and the slack comes back.
fn every_call_blocks(refused: &[c_long], errno: c_int) {
    refuse(refused, errno);
    let before = slack::current();
    assert_eq!(
        before,
        Some(OWN_SLACK).filter(|_| !refused.contains(&PRCTL))
    );
    let mut sleeper = Sleeper::new();
    // The standard library's own sleep panics, and is not asked to do anything.
    for method in methods().iter().filter(|m| **m != Method::ThreadSleep) {
        let deadline = clock::now() + Nanos::from_us(500);
        while clock::now() < deadline {
            sleeper.block(*method, Limit::Until(deadline), None);
        }
        assert_eq!(slack::current(), before, "{method}");
    }
}

#[test]
fn nothing_is_refused() {
    apart("nothing_is_refused", || every_call_blocks(&[], 0));
}

#[test]
fn the_sleep_is_refused() {
    apart("the_sleep_is_refused", || {
        every_call_blocks(&[NANOSLEEP], libc::EACCES);
    });
}

#[test]
fn everything_that_blocks_is_refused() {
    apart("everything_that_blocks_is_refused", || {
        every_call_blocks(&[FUTEX, NANOSLEEP, PPOLL], libc::EPERM);
    });
}

#[test]
fn nothing_at_all_is_allowed() {
    apart("nothing_at_all_is_allowed", || {
        every_call_blocks(&[FUTEX, NANOSLEEP, PPOLL, PRCTL], libc::EPERM);
    });
}
