//! punctual for C: waits that end when you asked, and say what they cost.
//!
//! `include/punctual.h` is generated from this crate, and `include/punctual.hpp` is written for
//! C++ on top of it. Rules for all functions:
//!
//! - **Never early.** No wait ends before its deadline, a number of nanoseconds of the clock
//!   that [`punctual_now_ns`] reads. A deadline that has passed costs one reading of it.
//! - Each function returns a [`punctual_result`]; what else it returns, it writes through its
//!   last pointers, and only where that is [`Ok`](punctual_result::Ok). A pointer may be null only
//!   where that is said.
//! - A handle has a `_new` or a `_hold`, and a `_free`, which takes null too. A handle may move
//!   between threads. Two threads at once get [`Busy`](punctual_result::Busy) from it; only a
//!   [`punctual_cancel`] may be used by any number.
//! - Nothing unwinds into the caller, and there is nothing to begin or to end. After `fork` the
//!   child goes on with all handles but those that another thread was using just then, which are
//!   [`Busy`](punctual_result::Busy) there for ever.
//! - `pthread_cancel` ends no wait. On Linux no function is a cancellation point: a cancelled thread
//!   waits to its deadline and ends at its next cancellation point after that. To end a wait early
//!   there is [`punctual_cancel`]. Threads with asynchronous cancellation
//!   (`PTHREAD_CANCEL_ASYNCHRONOUS`), and cancelled threads on other systems, must not call the
//!   library.
//! - A struct with a `size` can grow without a new ABI: the caller sets `size` to the `sizeof` that
//!   it was compiled with (`PUNCTUAL_INIT`).

#![allow(non_camel_case_types)]

mod frame;
mod guard;
mod pointer;
mod queue;
mod result;
mod ticker;
mod waiter;

use std::ffi::c_char;

pub use frame::*;
pub use guard::*;
pub use queue::*;
pub use result::*;
pub use ticker::*;
pub use waiter::*;

/// Raised by each release after which programs must be compiled again.
pub const PUNCTUAL_ABI_VERSION: u32 = 1;

/// The `PUNCTUAL_ABI_VERSION` of the library in use, to compare with that of the header.
///
/// Any thread, any time.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_abi_version() -> u32 {
    PUNCTUAL_ABI_VERSION
}

/// The version of the library in use, as `"0.1.0"`; never freed.
///
/// Any thread, any time.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The current time in nanoseconds: `CLOCK_MONOTONIC` on Linux and other Unix systems,
/// `mach_absolute_time` on macOS, `QueryPerformanceCounter` on Windows.
///
/// Any thread, any time, signal handlers too.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_now_ns() -> u64 {
    punctual::ns::now()
}
