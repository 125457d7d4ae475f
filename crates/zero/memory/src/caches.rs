//! The caches of a CPU.

use super::platform;
use crate::cpuid;

/// A cache that data goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is the one next to the CPU.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Its size.
    pub bytes: u64,
    /// What it fetches at once.
    pub line_bytes: Option<usize>,
    /// The CPUs that it belongs to, in ascending order; empty where the system
    /// does not tell.
    pub shared_by: Vec<usize>,
}

/// What a cache holds. Those that hold instructions alone are left out.
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
    if caches.is_empty() {
        caches = cpuid::caches();
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// The bytes of a line of the first cache, which is what CPUs pass to each
/// other; `None` where nothing tells.
pub fn line_bytes() -> Option<usize> {
    caches().iter().find_map(|cache| cache.line_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(cache.line_bytes.is_none_or(usize::is_power_of_two));
        }
    }

    #[test]
    fn a_line_is_that_of_the_first_cache_that_tells() {
        let told: Vec<usize> = caches().iter().filter_map(|c| c.line_bytes).collect();
        assert_eq!(line_bytes(), told.first().copied());
    }

    /// A hypervisor may keep them from programs, or make them up.
    #[test]
    fn the_word_of_the_cpu_has_no_numbers_of_cpus() {
        for cache in cpuid::caches() {
            assert!(cache.level >= 1 && cache.bytes > 0, "{cache:?}");
            assert!(cache.shared_by.is_empty(), "{cache:?}");
        }
    }
}
