//! mmap(2), madvise(2), sysctl(3) and what Mach counts.

pub(super) use super::posix::{map, page_bytes, unmap};

use std::ptr::NonNull;
use std::sync::OnceLock;

use libc::vm_statistics64;
use mach2::mach_init::mach_host_self;
use mach2::port::mach_port_t;
use mach2::vm_page_size::vm_page_size;
use punctual_os::{Error, facts};

use super::posix::madvise;
use super::{Advice, Cache, CacheKind};

/// `MADV_FREE` is the only one that means here what it says: after
/// `MADV_DONTNEED` the contents stay, and huge pages cannot be asked for so.
///
/// # Safety
/// As `madvise`.
pub(super) unsafe fn advise(start: NonNull<u8>, bytes: usize, advice: Advice) -> Result<(), Error> {
    if advice != Advice::Free {
        return Err(Error::unsupported(format!(
            "macOS has no advice {} on memory, only free",
            advice.name()
        )));
    }
    // SAFETY: the caller's.
    unsafe { madvise(start, bytes, libc::MADV_FREE) }
        .map_err(|cause| Error::io(format_args!("MADV_FREE on {bytes} bytes"), &cause))
}

/// Free pages, and inactive ones, whose contents a file holds or can go to the
/// compressor.
pub(super) fn free_bytes() -> Option<u64> {
    // SAFETY: an all-zero structure of counts is valid.
    let mut counts: vm_statistics64 = unsafe { std::mem::zeroed() };
    let mut words = libc::HOST_VM_INFO64_COUNT;
    // Each call gives another right to send to this port, so there is one call.
    static HOST: OnceLock<mach_port_t> = OnceLock::new();
    // SAFETY: it takes nothing.
    let host = *HOST.get_or_init(|| unsafe { mach_host_self() });
    // SAFETY: the port of this host, and a place as long as stated.
    let answer = unsafe {
        libc::host_statistics64(
            host,
            libc::HOST_VM_INFO64,
            (&raw mut counts).cast(),
            &mut words,
        )
    };
    let pages = u64::from(counts.free_count) + u64::from(counts.inactive_count);
    // SAFETY: set before the program starts, and never changed.
    let page = unsafe { vm_page_size };
    (answer == libc::KERN_SUCCESS).then(|| pages * page as u64)
}

/// On Apple's own CPUs these are the caches of the efficient cores, of which
/// CPU 0 is one (<sys/sysctl.h>).
pub(super) fn caches() -> Vec<Cache> {
    let cache = |(level, kind, name)| {
        let bytes = facts::long_number(name).filter(|&bytes| bytes > 0)?;
        Some(Cache {
            level,
            kind,
            bytes,
            shared_by: Vec::new(),
        })
    };
    let levels = [
        (1, CacheKind::Data, c"hw.l1dcachesize"),
        (2, CacheKind::Unified, c"hw.l2cachesize"),
        (3, CacheKind::Unified, c"hw.l3cachesize"),
    ];
    levels.into_iter().filter_map(cache).collect()
}
