//! mmap(2), madvise(2), and the files that tell of memory.

mod caches;
mod settings;

pub(super) use self::caches::caches;
pub(super) use self::settings::{huge_page_bytes, huge_pages, init_on_alloc, init_on_free};
pub(super) use super::posix::{map, page_bytes, unmap};

use super::Advice;
use super::madvise::madvise;
use punctual_os::{Error, cgroups, facts};
use std::ptr::NonNull;

/// # Safety
/// As `madvise`.
pub(super) unsafe fn advise(start: NonNull<u8>, bytes: usize, advice: Advice) -> Result<(), Error> {
    let (number, name) = match advice {
        Advice::HugePages => (libc::MADV_HUGEPAGE, "MADV_HUGEPAGE"),
        Advice::NoHugePages => (libc::MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE"),
        Advice::Populate => (libc::MADV_POPULATE_WRITE, "MADV_POPULATE_WRITE"),
        Advice::DontNeed => (libc::MADV_DONTNEED, "MADV_DONTNEED"),
        Advice::Free => (libc::MADV_FREE, "MADV_FREE"),
    };
    // SAFETY: the caller's.
    let answer = unsafe { madvise(start, bytes, number) };
    answer.map_err(|cause| match cause.raw_os_error() {
        // The range is one that it takes, so it is the advice that it does not.
        Some(libc::EINVAL) => {
            Error::unsupported(format!("this kernel has no {name}: leave it out"))
        }
        _ => Error::io(format_args!("{name} on {bytes} bytes"), &cause),
    })
}

pub(super) fn free_bytes() -> Option<u64> {
    let of_system = available(&facts::read("/proc/meminfo")?)?;
    Some(cgroups::free_bytes().map_or(of_system, |of_group| of_group.min(of_system)))
}

/// `MemAvailable`, which proc_meminfo(5) has in KiB.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read() {
        let meminfo = "MemTotal:       24684092 kB\nMemFree: 5 kB\nMemAvailable:       12 kB\n";
        assert_eq!(available(meminfo), Some(12 << 10));
        assert_eq!(available("MemTotal:       24684092 kB\n"), None);
    }
}
