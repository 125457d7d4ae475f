//! A futex wait until an instant of the monotonic clock, which only a cancellation ends
//! early; and what is left where a sandbox refuses the call.
//!
//! All calls go through `syscall`. The C library's own functions are cancellation points of
//! `pthread_cancel`, whose unwinding aborts the process where it meets Rust's frames.

use super::{Slack, kernel_clock};
use crate::clock::{self, Tick};
use crate::crowd;
use crate::slack::{Kept, within, without};
use libc::{
    CLOCK_MONOTONIC, FUTEX_PRIVATE_FLAG, FUTEX_WAIT_BITSET, FUTEX_WAKE, SYS_clock_nanosleep,
    SYS_futex, SYS_ppoll, TIMER_ABSTIME, c_int,
};
use punctual_core::crowd::Crowd;
use punctual_core::{Nanos, Reason};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

#[derive(Debug)]
pub(super) struct Blocker {
    kept: Kept,
}

impl Blocker {
    pub(super) const fn new() -> Self {
        Self { kept: Kept::new() }
    }

    #[inline]
    pub(super) fn until(&mut self, instant: Tick, slack: Slack, flag: Option<&Flag>) -> Reason {
        match slack {
            Slack::PerNap => match crowd::is_crowded() {
                true => within(Crowd::SLACK_MOST, || block(instant, flag)),
                false => without(|| block(instant, flag)),
            },
            Slack::KeepThread => {
                self.kept.lower();
                block(instant, flag)
            }
            Slack::Leave => block(instant, flag),
        }
    }

    pub(super) fn ordinary(&mut self, length: Nanos, flag: Option<&Flag>) -> Reason {
        let end = clock::now() + length;
        let slept = match flag {
            None if !kernel_clock::is_another() => clock_nanosleep(0, length.as_ns()),
            _ => None,
        };
        slept.unwrap_or_else(|| block(end, flag))
    }
}

/// The futex word: 1 once it was cancelled.
#[derive(Debug, Default)]
pub(super) struct Flag(AtomicU32);

impl Flag {
    pub(super) fn raise(&self) {
        self.0.store(1, Ordering::Release);
        let everybody = c_int::MAX;
        // SAFETY: the word lives as long as `self`, and the call only uses its address, to
        // find the threads that wait on it.
        unsafe {
            libc::syscall(
                SYS_futex,
                self.0.as_ptr(),
                FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
                everybody,
            )
        };
    }

    #[inline]
    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire) != 0
    }

    pub(super) fn lower(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Blocks until `end` at the thread's current slack.
#[inline]
fn block(end: Tick, flag: Option<&Flag>) -> Reason {
    if kernel_clock::is_another() {
        return in_pieces(end, flag);
    }
    on_kernel_clock(end, flag)
}

/// The kernel's clock, or the C library's if a sandbox refuses the call.
fn kernel_now() -> Tick {
    kernel_clock::now().unwrap_or_else(clock::now)
}

/// The longest block while the clocks differ. On a clock that runs faster than the kernel's a nap
/// is at most this late by the kernel's.
const PIECE: Nanos = Nanos::from_ms(10);

#[cold]
fn in_pieces(end: Tick, flag: Option<&Flag>) -> Reason {
    let over = kernel_now() + end.since(clock::now());
    loop {
        let now = clock::now();
        let left = end.since(now);
        if left.is_zero() {
            return Reason::Timer;
        }
        if clock::stands(now) && kernel_now() >= over {
            return Reason::Standstill;
        }
        match on_kernel_clock(kernel_now() + left.min(PIECE), flag) {
            Reason::Timer => {}
            reason => return reason,
        }
    }
}

/// Blocks until the kernel's clock shows `end`, with the first call that is not refused.
#[inline]
fn on_kernel_clock(end: Tick, flag: Option<&Flag>) -> Reason {
    if RUNG.load(Ordering::Relaxed) == FUTEX {
        // Without a flag: a word on this thread's stack, which no other can wake.
        let alone = AtomicU32::new(0);
        if let Some(reason) = futex(flag.map_or(&alone, |flag| &flag.0), end) {
            return reason;
        }
        refused(FUTEX);
    }
    below_futex(end, flag)
}

/// The calls in the order in which they are tried. A process that was refused one does not
/// try it again, so that each nap costs one call.
const FUTEX: u8 = 0;
const CLOCK_NANOSLEEP: u8 = 1;
const PPOLL: u8 = 2;
const YIELD: u8 = 3;
static RUNG: AtomicU8 = AtomicU8::new(FUTEX);

#[cold]
fn refused(rung: u8) {
    RUNG.fetch_max(rung + 1, Ordering::Relaxed);
}

/// The other calls cannot be woken, so with a flag they block for this long at a time.
const LOOK: Nanos = Nanos::from_ms(5);

#[cold]
fn below_futex(end: Tick, flag: Option<&Flag>) -> Reason {
    loop {
        let until = match flag {
            Some(flag) if flag.is_raised() => return Reason::Event,
            Some(_) => end.min(kernel_now() + LOOK),
            None => end,
        };
        match without_futex(until) {
            Reason::Timer if until < end => {}
            reason => return reason,
        }
    }
}

fn without_futex(end: Tick) -> Reason {
    if RUNG.load(Ordering::Relaxed) <= CLOCK_NANOSLEEP {
        if let Some(reason) = clock_nanosleep(TIMER_ABSTIME, end.as_ns()) {
            return reason;
        }
        refused(CLOCK_NANOSLEEP);
    }
    if RUNG.load(Ordering::Relaxed) < YIELD {
        if let Some(reason) = ppoll(end) {
            return reason;
        }
        refused(PPOLL);
    }
    yield_until(end)
}

/// `None` when the system refuses the call.
#[inline]
fn futex(word: &AtomicU32, end: Tick) -> Option<Reason> {
    let (unraised, every_waker) = (0, u32::MAX);
    let deadline = Time::of(end.as_ns());
    // SAFETY: the word and the time live until the call returns. The time has the layout of this
    // call, and the operation does not use the second word.
    let answer = unsafe {
        libc::syscall(
            SYS_futex,
            word.as_ptr(),
            FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
            unraised,
            &raw const deadline,
            ptr::null::<u32>(),
            every_waker,
        )
    };
    if answer == 0 {
        // Woken: by who cancels, or by a wake that was meant for another word
        // which lay in this place before (futex(2)).
        return Some(Reason::Interrupted);
    }
    match errno() {
        libc::ETIMEDOUT => Some(Reason::Timer),
        // The word had changed before it began to wait.
        libc::EINTR | libc::EAGAIN => Some(Reason::Interrupted),
        _ => None,
    }
}

/// The `timespec` of the kernel's calls, which on 32-bit processors is older than that of
/// the C library.
#[repr(C)]
pub(super) struct Time {
    seconds: Field,
    ns: Field,
}

// Targets whose first kernels had 64-bit times already, or whose C library has no other futex
// call.
#[cfg(any(
    target_pointer_width = "64",
    target_arch = "x86_64",
    target_arch = "riscv32",
    target_arch = "m68k"
))]
type Field = i64;
#[cfg(not(any(
    target_pointer_width = "64",
    target_arch = "x86_64",
    target_arch = "riscv32",
    target_arch = "m68k"
)))]
type Field = i32;

impl Time {
    /// A day from now at most, on a clock that starts at boot: it fits.
    #[inline]
    pub(super) fn of(ns: u64) -> Self {
        Self {
            seconds: (ns / 1_000_000_000) as Field,
            ns: (ns % 1_000_000_000) as Field,
        }
    }

    pub(super) fn as_ns(&self) -> u64 {
        self.seconds as u64 * 1_000_000_000 + self.ns as u64
    }
}

/// `None` when the system refuses the call.
fn clock_nanosleep(flags: c_int, ns: u64) -> Option<Reason> {
    let request = Time::of(ns);
    // SAFETY: `request` is a time as this call takes it, with less than 10^9 nanoseconds,
    // and no remainder is asked for, which the null pointer says.
    let answer = unsafe {
        libc::syscall(
            SYS_clock_nanosleep,
            CLOCK_MONOTONIC,
            flags,
            &raw const request,
            ptr::null::<Time>(),
        )
    };
    match answer {
        0 => Some(Reason::Timer),
        _ if errno() == libc::EINTR => Some(Reason::Interrupted),
        _ => None,
    }
}

/// `None` when the system refuses the call.
fn ppoll(end: Tick) -> Option<Reason> {
    let mut timeout = Time::of(end.since(kernel_now()).as_ns());
    // SAFETY: zeroes and null pointers mean no descriptors and no signal mask. `timeout` is a
    // valid time, in whose place the kernel may write the rest of it.
    let answer = unsafe {
        libc::syscall(
            SYS_ppoll,
            ptr::null::<libc::pollfd>(),
            0,
            &raw mut timeout,
            ptr::null::<u64>(),
            size_of::<u64>(),
        )
    };
    match answer {
        0 => Some(Reason::Timer),
        _ if errno() == libc::EINTR => Some(Reason::Interrupted),
        _ => None,
    }
}

/// Nothing can block: offers the CPU until the time comes.
fn yield_until(end: Tick) -> Reason {
    let last = end.min(kernel_now() + LOOK);
    while kernel_now() < last {
        std::thread::yield_now();
    }
    if last < end {
        Reason::Interrupted
    } else {
        Reason::Timer
    }
}

#[inline]
fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
