//! Naps where `clock_gettime` is not the kernel's, as under libfaketime.
//!
//! The one of this program takes the place of the C library's.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod apart;

use apart::{FUTEX, NANOSLEEP, PPOLL, PRCTL, apart, refuse};
use libc::{c_int, c_long, clockid_t, timespec};
use punctual_core::{Nanos, Reason};
use punctual_sys::clock;
use punctual_sys::nap::{Cancel, Nap, Slack};
use punctual_sys::spin;
use std::sync::atomic::{AtomicI64, Ordering};

/// Where the faked clock stands, in ns; 0 where it goes on.
static STANDS: AtomicI64 = AtomicI64::new(0);

/// The faked clock's value when the kernel's is 0, in ns, and its rate.
static OFFSET: AtomicI64 = AtomicI64::new(0);
static RATE: AtomicI64 = AtomicI64::new(1);

#[unsafe(no_mangle)]
extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    // SAFETY: the caller's place for the time.
    let answer = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as c_int;
    if answer == 0 && clock == libc::CLOCK_MONOTONIC {
        // SAFETY: the call has written it.
        let time = unsafe { &mut *time };
        let ns = time.tv_sec * 1_000_000_000 + time.tv_nsec;
        let ns = match STANDS.load(Ordering::Relaxed) {
            0 => ns * RATE.load(Ordering::Relaxed) + OFFSET.load(Ordering::Relaxed),
            stands => stands,
        };
        (time.tv_sec, time.tv_nsec) = (ns / 1_000_000_000, ns % 1_000_000_000);
    }
    answer
}

fn kernel_ns() -> i64 {
    // SAFETY: all zeroes are a timespec, and the call writes one.
    let mut time: timespec = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for a timespec.
    unsafe {
        libc::syscall(
            libc::SYS_clock_gettime,
            libc::CLOCK_MONOTONIC,
            &raw mut time,
        )
    };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

const YEAR_NS: i64 = 365 * 86_400 * 1_000_000_000;

/// A wait that does not end is ended by the alarm of `apart`.
fn naps_end(refused: &[c_long]) {
    refuse(refused, libc::EPERM);
    let cancel = Cancel::new();
    let mut nap = Nap::new();
    for slack in [Slack::PerNap, Slack::KeepThread, Slack::Leave] {
        for cancel in [None, Some(&cancel)] {
            let deadline = clock::now() + Nanos::from_ms(25);
            while clock::now() < deadline {
                let reason = nap.until(deadline, slack, cancel);
                assert!(reason != Reason::Timer || clock::now() >= deadline);
            }
            nap.ordinary(Nanos::from_ms(2), cancel);
        }
    }
    cancel.cancel();
    let far = clock::now() + Nanos::from_secs(3_600);
    assert_eq!(nap.until(far, Slack::PerNap, Some(&cancel)), Reason::Event);
}

fn each_kind_of_nap_ends() {
    naps_end(&[]);
    naps_end(&[FUTEX]);
    naps_end(&[NANOSLEEP]);
    naps_end(&[PPOLL, PRCTL]);
}

#[test]
fn a_clock_a_year_ahead() {
    apart("a_clock_a_year_ahead", || {
        assert!(clock::is_the_kernels());
        OFFSET.store(YEAR_NS, Ordering::Relaxed);
        assert!(!clock::is_the_kernels());
        each_kind_of_nap_ends();
    });
}

#[test]
fn a_clock_that_begins_at_zero() {
    apart("a_clock_that_begins_at_zero", || {
        OFFSET.store(-kernel_ns(), Ordering::Relaxed);
        each_kind_of_nap_ends();
    });
}

/// As a file that libfaketime reads again may have it.
#[test]
fn a_clock_that_jumps() {
    apart("a_clock_that_jumps", || {
        naps_end(&[]);
        OFFSET.store(YEAR_NS, Ordering::Relaxed);
        each_kind_of_nap_ends();
    });
}

/// As `faketime -f '+0 x100'`: together at the start.
#[test]
fn a_clock_that_runs_a_hundred_times_faster() {
    apart("a_clock_that_runs_a_hundred_times_faster", || {
        OFFSET.store(-99 * kernel_ns(), Ordering::Relaxed);
        RATE.store(100, Ordering::Relaxed);
        each_kind_of_nap_ends();
    });
}

/// Naps, each alone as long as it is, and spins.
fn waits_end_on_a_clock_that_stands(refused: &[c_long]) {
    refuse(refused, libc::EPERM);
    let cancel = Cancel::new();
    let mut nap = Nap::new();
    for cancel in [None, Some(&cancel)] {
        for length in [3, 25, 150].map(Nanos::from_ms) {
            let (deadline, begun) = (clock::now() + length, kernel_ns());
            while nap.until(deadline, Slack::PerNap, cancel) != Reason::Standstill {}
            assert!(kernel_ns() - begun >= length.as_ns() as i64);
            assert!(clock::now() < deadline);
        }
        nap.ordinary(Nanos::from_ms(2), cancel);
    }
    let deadline = clock::now() + Nanos::from_us(500);
    assert_eq!(spin::until(deadline), deadline);
    cancel.cancel();
    let far = clock::now() + Nanos::from_secs(3_600);
    assert_eq!(nap.until(far, Slack::PerNap, Some(&cancel)), Reason::Event);
}

/// As `faketime '2020-01-01 00:00:00'`.
#[test]
fn a_clock_that_stands_from_the_beginning() {
    apart("a_clock_that_stands_from_the_beginning", || {
        STANDS.store(YEAR_NS, Ordering::Relaxed);
        waits_end_on_a_clock_that_stands(&[]);
        waits_end_on_a_clock_that_stands(&[FUTEX]);
    });
}

/// Short naps, after which the clock is not compared for as long as no time passes.
#[test]
fn a_clock_that_stops_and_goes_on() {
    apart("a_clock_that_stops_and_goes_on", || {
        naps_end(&[]);
        STANDS.store(kernel_ns(), Ordering::Relaxed);
        waits_end_on_a_clock_that_stands(&[]);
        STANDS.store(0, Ordering::Relaxed);
        each_kind_of_nap_ends();
    });
}

/// Nothing but spins.
#[test]
fn spins_end_on_a_clock_that_stands() {
    apart("spins_end_on_a_clock_that_stands", || {
        STANDS.store(YEAR_NS, Ordering::Relaxed);
        let deadline = clock::now() + Nanos::from_us(3);
        assert_eq!(spin::until(deadline), deadline);
    });
}
