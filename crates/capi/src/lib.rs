//! punctual for C: waits that end on time and report their cost.
//!
//! `punctual.hpp` is the same for C++17. Rules for all functions:
//!
//! - **Never early.** No wait ends before its deadline. All deadlines and instants are
//!   nanoseconds on the clock that [`punctual_now_ns`] reads. A wait whose deadline has passed
//!   reads that clock once and returns.
//! - Most functions return a [`punctual_result`]. They write other results through their last
//!   pointers, and only if they return [`Ok`](punctual_result::Ok). A pointer may be null only
//!   where the function's description permits it.
//! - A function with `_new` or `_hold` in its name creates a handle; the matching `_free`
//!   function destroys it and ignores null. A handle may be used by one thread at a time: a
//!   second one gets [`Busy`](punctual_result::Busy). A [`punctual_cancel`] may be used by any
//!   number of threads at once.
//! - The library needs no initialization and no cleanup, and never throws. After `fork` the child
//!   process may use all handles, except those that another thread was using at that moment: they
//!   stay [`Busy`](punctual_result::Busy) in the child.
//! - `pthread_cancel` ends no wait. On Linux no function is a cancellation point: a cancelled
//!   thread waits to its deadline and ends at its next cancellation point after that. Use a
//!   [`punctual_cancel`] to end a wait early. Threads with asynchronous cancellation
//!   (`PTHREAD_CANCEL_ASYNCHRONOUS`), and cancelled threads on other systems, must not call the
//!   library.
//! - A struct with a `size` member can grow in later versions without a new ABI. Set `size` to
//!   the `sizeof` of the struct, for instance with `PUNCTUAL_INIT`.

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

/// The version of the ABI. A release that requires programs to be compiled again raises it.
pub const PUNCTUAL_ABI_VERSION: u32 = 1;

/// Returns the `PUNCTUAL_ABI_VERSION` of the library in use. Compare it with that of the header.
///
/// Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_abi_version() -> u32 {
    PUNCTUAL_ABI_VERSION
}

/// Returns the version of the library in use, such as `"0.1.0"`. The text must not be freed.
///
/// Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Returns the current time in nanoseconds: `CLOCK_MONOTONIC` on Linux and other Unix systems,
/// `mach_absolute_time` on macOS, `QueryPerformanceCounter` on Windows.
///
/// Any thread, at any time, also in a signal handler.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_now_ns() -> u64 {
    punctual::ns::now()
}
