//! Memory straight from the system, and how it becomes zero.
//!
//! A [`Mapping`] is pages that nobody has touched yet: the system gives memory
//! to each of them, and zeroes it, when it is touched first, and takes it back
//! when the mapping ends. What that costs can be timed step by step, and changed
//! by [`Advice`]. A [`Kernel`] zeroes pages in the process itself, in one of the
//! ways that operating systems do it. Around them stand the facts that bear on
//! it: how much memory is free, which caches a CPU has, and what the system does
//! by default.
//!
//! This is where unsafe code lives that zeroes pages: each block names the
//! invariant that it relies on, which is at the head of `mapping.rs`.

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod no_settings;
#[cfg(unix)]
mod posix;

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "linux.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "macos.rs"]
mod platform;
#[cfg(all(
    unix,
    not(any(target_os = "linux", target_os = "android", target_os = "macos"))
))]
#[path = "unix.rs"]
mod platform;
#[cfg(windows)]
#[path = "windows.rs"]
mod platform;
#[cfg(not(any(unix, windows)))]
#[path = "fallback.rs"]
mod platform;

mod caches;
mod contents;
mod cpuid;
mod kernel;
mod mapping;

pub use caches::{Cache, CacheKind, caches, line_bytes};
pub use kernel::Kernel;
pub use mapping::Mapping;

/// The bytes of a page: a unit of account that is the same everywhere. It
/// divides the page of every system, which on Apple's own CPUs is 16 KiB.
pub const PAGE: usize = 4096;

/// What [`Mapping::advise`](Mapping::advise) tells the system.
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
    /// The contents are of no use any more: until a page is written to again,
    /// the system may take its memory back whenever it likes, or never.
    /// `MADV_FREE`, `MEM_RESET`.
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
    platform::huge_pages()
}

/// The bytes of a huge page that the system puts in on its own; `None` where it
/// does not.
pub fn huge_page_bytes() -> Option<usize> {
    platform::huge_page_bytes()
}

/// Whether the kernel zeroes all memory that it hands out, to itself also;
/// `None` where nothing tells. Linux: `init_on_alloc`, from the command line of
/// the kernel or else its configuration in `/boot`.
pub fn init_on_alloc() -> Option<bool> {
    platform::init_on_alloc()
}

/// Whether the kernel zeroes memory when it is given back, too; `None` where
/// nothing tells. Linux: `init_on_free`, as [`init_on_alloc`].
pub fn init_on_free() -> Option<bool> {
    platform::init_on_free()
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
}
