//! VirtualAlloc, and what Windows tells of memory.

use std::io;
use std::ptr::{self, NonNull};

use punctual_os::{Error, facts};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, MEM_RESET, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::SystemInformation::{
    CacheData, CacheUnified, GetSystemInfo, GlobalMemoryStatusEx, MEMORYSTATUSEX, RelationCache,
    SYSTEM_INFO, SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
};

use super::{Advice, Cache, CacheKind};

pub(super) fn map(bytes: usize) -> io::Result<NonNull<u8>> {
    // SAFETY: asks for new pages wherever there is room, which cannot overlap
    // anything that is in use.
    let start =
        unsafe { VirtualAlloc(ptr::null(), bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)
}

/// # Safety
/// The bytes are those of one `map`, and nothing refers to them any more.
pub(super) unsafe fn unmap(start: NonNull<u8>, _bytes: usize) -> io::Result<()> {
    // SAFETY: the caller's; a length of 0 means all that was reserved.
    let freed = unsafe { VirtualFree(start.as_ptr().cast(), 0, MEM_RELEASE) };
    if freed == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// `MEM_RESET` is the only one that exists. Decommitted memory would read as zero again only after
/// another call; a touch between the two calls would end the process. Large pages have to be
/// requested from the start, with a privilege.
///
/// # Safety
/// The bytes belong to one `map`, and all holders expect that they change.
pub(super) unsafe fn advise(start: NonNull<u8>, bytes: usize, advice: Advice) -> Result<(), Error> {
    if advice != Advice::Free {
        return Err(Error::unsupported(format!(
            "Windows has no advice {} on memory, only free",
            advice.name()
        )));
    }
    // SAFETY: the caller's. The protection has to be valid and is ignored.
    let told = unsafe { VirtualAlloc(start.as_ptr().cast(), bytes, MEM_RESET, PAGE_READWRITE) };
    if told.is_null() {
        return Err(Error::last_os(format_args!("MEM_RESET on {bytes} bytes")));
    }
    Ok(())
}

pub(super) fn page_bytes() -> Option<usize> {
    let mut info = SYSTEM_INFO::default();
    // SAFETY: `info` is a valid place for the answer.
    unsafe { GetSystemInfo(&mut info) };
    usize::try_from(info.dwPageSize)
        .ok()
        .filter(|&bytes| bytes > 0)
}

pub(super) fn free_bytes() -> Option<u64> {
    let mut status = MEMORYSTATUSEX {
        dwLength: size_of::<MEMORYSTATUSEX>() as u32,
        ..MEMORYSTATUSEX::default()
    };
    // SAFETY: the structure is valid and states its own size.
    let told = unsafe { GlobalMemoryStatusEx(&mut status) };
    let free = status
        .ullAvailPhys
        .min(status.ullAvailPageFile)
        .min(status.ullAvailVirtual);
    (told != 0).then_some(free)
}

/// The caches of the first CPU of the first processor group.
pub(super) fn caches() -> Vec<Cache> {
    let mut caches = Vec::new();
    facts::processor_records(RelationCache, |record| {
        caches.extend(cache(record).filter(|cache| cache.shared_by.contains(&0)));
    });
    caches
}

/// `None` for one of instructions. Of a cache that several processor groups
/// share, the CPUs in the first.
fn cache(record: &SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX) -> Option<Cache> {
    // SAFETY: only caches were asked for, and this is the part of a cache.
    let cache = unsafe { record.Anonymous.Cache };
    // SAFETY: both parts of this union begin with a mask.
    let mask = unsafe { cache.Anonymous.GroupMask };
    Some(Cache {
        level: cache.Level,
        #[expect(non_upper_case_globals, reason = "Microsoft names them so")]
        kind: match cache.Type {
            CacheData => CacheKind::Data,
            CacheUnified => CacheKind::Unified,
            _ => return None,
        },
        bytes: cache.CacheSize.into(),
        shared_by: facts::cpus_of(&mask).collect(),
    })
}
