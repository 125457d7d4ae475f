//! mmap(2), and the size of its pages.

use std::io;
use std::ptr::{self, NonNull};

pub(super) fn map(bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: asks for new pages wherever there is room, which cannot overlap
    // anything that is in use.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))
}

/// # Safety
/// The bytes are those of one `map`, and nothing refers to them any more.
pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) -> io::Result<()> {
    // SAFETY: the caller's.
    let answer = unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

pub(super) fn page_bytes() -> Option<usize> {
    // SAFETY: asks for one number; no pointers.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|&bytes| bytes > 0)
}

/// madvise(2), where its advice means what this crate means.
///
/// # Safety
/// The bytes belong to one `map`, and all holders expect that they change.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
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
