//! Memory straight from the system, and how it becomes zero.
//!
//! A [`Mapping`] is pages that were never touched. At the first touch of a page the system gives
//! it memory and zeroes it; it takes the memory back when the mapping ends. The cost can be timed
//! step by step, and changed by [`Advice`]. A [`Kernel`] zeroes pages in the process itself, in
//! one of the ways of operating systems. The other items are related facts: how much memory is
//! free, which caches a CPU has, and the defaults of the system.
//!
//! This is where unsafe code lives that zeroes pages: each block names the
//! invariant that it relies on, which is at the head of `mapping.rs`.

#[cfg(unix)]
mod posix;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_os = "macos",
    windows
)))]
#[path = "other.rs"]
mod platform;

mod kernel;
mod mapping;

#[cfg(any(target_os = "linux", target_os = "android"))]
use platform as settings;
/// Only Linux does with memory on its own what it could be asked for.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod settings {
    pub(crate) fn huge_pages() -> Option<String> {
        None
    }

    pub(crate) fn huge_page_bytes() -> Option<usize> {
        None
    }

    pub(crate) fn init_on_alloc() -> Option<bool> {
        None
    }

    pub(crate) fn init_on_free() -> Option<bool> {
        None
    }
}

pub use kernel::Kernel;
pub use mapping::Mapping;

/// The bytes of a page: a unit of account that is the same everywhere. It
/// divides the page of every system, which on Apple's own CPUs is 16 KiB.
pub const PAGE: usize = 4096;

/// The advice that [`Mapping::advise`](Mapping::advise) gives the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Advice {
    /// Back it with huge pages where that is possible: one fault then brings,
    /// and zeroes, a whole one. `MADV_HUGEPAGE`.
    HugePages,
    /// Back it with ordinary pages only. `MADV_NOHUGEPAGE`.
    NoHugePages,
    /// Give memory to all of it now, as if each page had been written to.
    /// `MADV_POPULATE_WRITE`, since Linux 5.14.
    Populate,
    /// Take the memory back at once. Every page reads as zero, and has to be
    /// given memory again. `MADV_DONTNEED` of Linux.
    DontNeed,
    /// The contents are no longer needed. Until a page is written to again, the system may take
    /// its memory back at any time, or never. `MADV_FREE`, `MEM_RESET`.
    Free,
}

impl Advice {
    /// Everything that can be told.
    pub const ALL: [Self; 5] = [
        Self::HugePages,
        Self::NoHugePages,
        Self::Populate,
        Self::DontNeed,
        Self::Free,
    ];

    /// The name the user reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HugePages => "huge-pages",
            Self::NoHugePages => "no-huge-pages",
            Self::Populate => "populate",
            Self::DontNeed => "dont-need",
            Self::Free => "free",
        }
    }
}

/// The bytes of an ordinary page of this system, which is what a fault brings;
/// `None` where it does not tell.
pub fn page_bytes() -> Option<usize> {
    platform::page_bytes()
}

/// How many bytes a program can use now without anything being swapped out or
/// another program being ended; `None` where the system does not tell.
///
/// # Platform notes
/// Linux: `MemAvailable` of `/proc/meminfo`, or what the memory limits of this
/// process' cgroups leave, whichever is less. Windows: the least of the free
/// physical memory, of what may still be committed, and of the free addresses.
/// macOS: free and inactive pages.
pub fn free_bytes() -> Option<u64> {
    platform::free_bytes()
}

/// When the system backs memory with huge pages on its own: `always`, `madvise`
/// (where [`Advice::HugePages`] was given) or `never`. `None` where it has no
/// such setting; only Linux has
/// (`/sys/kernel/mm/transparent_hugepage/enabled`).
pub fn huge_pages() -> Option<String> {
    settings::huge_pages()
}

/// The bytes of a huge page that the system puts in on its own; `None` where it
/// does not.
pub fn huge_page_bytes() -> Option<usize> {
    settings::huge_page_bytes()
}

/// Whether the kernel zeroes all memory that it hands out, to itself also;
/// `None` where nothing tells. Linux: `init_on_alloc`, from the command line of
/// the kernel or else its configuration in `/boot`.
pub fn init_on_alloc() -> Option<bool> {
    settings::init_on_alloc()
}

/// Whether the kernel zeroes memory when it is given back, too; `None` where
/// nothing tells. Linux: `init_on_free`, as [`init_on_alloc`].
pub fn init_on_free() -> Option<bool> {
    settings::init_on_free()
}

/// A cache that data goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is the one next to the CPU.
    pub level: u8,
    /// Whether it holds data, or data and instructions.
    pub kind: CacheKind,
    /// Its size.
    pub bytes: u64,
    /// The CPUs that it belongs to, in ascending order; empty where the system
    /// does not tell.
    pub shared_by: Vec<usize>,
}

/// The contents of a cache. Caches of instructions alone are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheKind {
    /// Data alone.
    Data,
    /// Data and instructions.
    Unified,
}

impl CacheKind {
    /// The name the user reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Unified => "unified",
        }
    }
}

/// The caches of CPU 0, the smallest level first; empty where nothing tells.
///
/// # Accuracy
/// Under a hypervisor it is what that makes up, and so are the CPUs that share
/// them.
///
/// # Platform notes
/// Linux: sysfs. Windows: `GetLogicalProcessorInformationEx`. macOS: `sysctl`,
/// which does not say who shares them. Otherwise, on x86-64, the CPU's own word
/// (CPUID), which has no numbers of CPUs either.
pub fn caches() -> Vec<Cache> {
    let mut caches = platform::caches();
    #[cfg(target_arch = "x86_64")]
    if caches.is_empty() {
        caches = kernel::x86_64::caches();
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_less_than_all_addresses() {
        if let Some(free) = free_bytes() {
            assert!(free > 0 && free < 1 << 56, "{free}");
        }
    }

    #[test]
    fn pages_of_the_system_are_whole_pages() {
        if let Some(bytes) = page_bytes() {
            assert!(bytes.is_power_of_two() && bytes >= PAGE, "{bytes}");
        }
    }

    #[test]
    fn huge_pages_are_whole_pages() {
        if let Some(bytes) = huge_page_bytes() {
            assert!(bytes > PAGE && bytes.is_multiple_of(PAGE), "{bytes}");
        }
        assert_ne!(huge_pages().as_deref(), Some(""));
    }

    #[test]
    fn caches_grow_with_their_level() {
        let caches = caches();
        for pair in caches.windows(2) {
            assert!(pair[0].level <= pair[1].level, "{pair:?}");
        }
        for cache in caches {
            assert!((1..=4).contains(&cache.level), "{cache:?}");
            assert!(cache.bytes >= 1024, "{cache:?}");
            assert!(cache.shared_by.is_empty() || cache.shared_by.contains(&0));
        }
    }

    /// A hypervisor may keep them from programs, or make them up.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_word_of_the_cpu_has_no_numbers_of_cpus() {
        for cache in kernel::x86_64::caches() {
            assert!(cache.level >= 1 && cache.bytes > 0, "{cache:?}");
            assert!(cache.shared_by.is_empty(), "{cache:?}");
        }
    }
}
