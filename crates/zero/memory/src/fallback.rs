//! The standard library has no memory that nobody has touched.

pub(super) use super::no_settings::{huge_page_bytes, huge_pages, init_on_alloc, init_on_free};

use std::io;
use std::ptr::NonNull;

use punctual_os::Error;

use super::{Advice, Cache};

pub(super) fn map(_bytes: usize) -> io::Result<NonNull<u8>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// # Safety
/// Never to be called: nothing was mapped.
pub(super) unsafe fn unmap(_start: NonNull<u8>, _bytes: usize) -> io::Result<()> {
    Ok(())
}

/// # Safety
/// None is needed: nothing is done.
pub(super) unsafe fn advise(
    _start: NonNull<u8>,
    _bytes: usize,
    _advice: Advice,
) -> Result<(), Error> {
    Err(Error::unsupported("this system takes no advice on memory"))
}

pub(super) fn page_bytes() -> Option<usize> {
    None
}

pub(super) fn free_bytes() -> Option<u64> {
    None
}

pub(super) fn caches() -> Vec<Cache> {
    Vec::new()
}
