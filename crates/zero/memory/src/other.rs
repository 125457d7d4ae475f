//! A system whose calls beyond mmap(2) are not wrapped, if it has even that one: the standard
//! library has no untouched memory.

use std::ptr::NonNull;

use punctual_os::Error;

use super::{Advice, Cache};

#[cfg(unix)]
pub(super) use super::posix::{map, page_bytes, unmap};

#[cfg(not(unix))]
pub(super) use nothing::{map, page_bytes, unmap};

#[cfg(not(unix))]
mod nothing {
    use std::io;
    use std::ptr::NonNull;

    pub(crate) fn map(_bytes: usize) -> io::Result<NonNull<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// # Safety
    /// Never to be called: nothing was mapped.
    pub(crate) unsafe fn unmap(_start: NonNull<u8>, _bytes: usize) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn page_bytes() -> Option<usize> {
        None
    }
}

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
