//! C's `memset`.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

pub(super) unsafe fn zero(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { fill(start, bytes, 0) };
}

/// # Safety
/// The bytes are whole pages of a mapping.
pub(crate) unsafe fn fill(start: NonNull<u8>, bytes: usize, byte: u8) {
    // A volatile read may return anything as far as the compiler knows, so it
    // cannot tell what is called here.
    // SAFETY: reads a static.
    let memset = unsafe { ptr::read_volatile(&raw const MEMSET) };
    // SAFETY: the caller says that the bytes are pages of a mapping, which may be
    // written where the compiler cannot see it (`mapping.rs`).
    unsafe { memset(start.as_ptr().cast(), byte.into(), bytes) };
}

static MEMSET: unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void = memset;

// SAFETY: as C declares it. Rust itself needs it on every target (the
// documentation of `core`).
unsafe extern "C" {
    fn memset(start: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
}
