//! madvise(2), where its advice means what this crate means.

use std::io;
use std::ptr::NonNull;

/// # Safety
/// The bytes belong to one `map`, and whoever refers to them expects that they
/// change.
pub(super) unsafe fn madvise(
    start: NonNull<u8>,
    bytes: usize,
    advice: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the caller's.
    let answer = unsafe { libc::madvise(start.as_ptr().cast(), bytes, advice) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
