//! mmap(2), on a system whose other calls are not wrapped.

pub(super) use super::no_settings::{huge_page_bytes, huge_pages, init_on_alloc, init_on_free};
pub(super) use super::posix::{map, page_bytes, unmap};

use std::ptr::NonNull;

use punctual_os::Error;

use super::{Advice, Cache};

/// # Safety
/// None is needed: nothing is done.
pub(super) unsafe fn advise(
    _start: NonNull<u8>,
    _bytes: usize,
    advice: Advice,
) -> Result<(), Error> {
    Err(Error::unsupported(format!(
        "punctual does not know what the advice {} would do on this system: leave it out",
        advice.name()
    )))
}

pub(super) fn free_bytes() -> Option<u64> {
    None
}

pub(super) fn caches() -> Vec<Cache> {
    Vec::new()
}
