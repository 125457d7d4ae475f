//! What the CPUID instruction of x86-64 tells of zeroing and of caches; nothing
//! elsewhere.

use crate::Cache;
#[cfg(target_arch = "x86_64")]
use crate::CacheKind;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};

/// CLZERO: leaf 8000_0008, EBX bit 0 (AMD APM volume 3). What it zeroes is a
/// cache line, which has to be one of 64 bytes: leaf 1, EBX bits 8 to 15, in
/// units of 8.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_clzero() -> bool {
    let line = (__cpuid(1).ebx >> 8 & 0xFF) * 8;
    highest(EXTENDED) >= EXTENDED + 8 && bit(__cpuid(EXTENDED + 8).ebx, 0) && line == 64
}

/// The caches for data: leaf 4 of Intel, leaf 8000_001D of AMD, which have the
/// same layout (Intel SDM; AMD APM volume 3). Which CPUs share them is told by
/// their numbers in the hardware only, and left out.
pub(crate) fn caches() -> Vec<Cache> {
    #[cfg(target_arch = "x86_64")]
    for (base, leaf) in [(0, 4), (EXTENDED, EXTENDED + 0x1D)] {
        if highest(base) >= leaf {
            let subleaf = |number| cache(__cpuid_count(leaf, number));
            let caches: Vec<Cache> = (0..MOST_CACHES).filter_map(subleaf).collect();
            if !caches.is_empty() {
                return caches;
            }
        }
    }
    Vec::new()
}

#[cfg(target_arch = "x86_64")]
const EXTENDED: u32 = 0x8000_0000;

/// More than any CPU has; subleaves beyond the last cache are of type 0.
#[cfg(target_arch = "x86_64")]
const MOST_CACHES: u32 = 8;

#[cfg(target_arch = "x86_64")]
fn cache(subleaf: CpuidResult) -> Option<Cache> {
    let field = |register: u32, first: u32, bits: u32| register >> first & ((1 << bits) - 1);
    let kind = match field(subleaf.eax, 0, 5) {
        1 => CacheKind::Data,
        3 => CacheKind::Unified,
        _ => return None,
    };
    let line = field(subleaf.ebx, 0, 12) + 1;
    let partitions = field(subleaf.ebx, 12, 10) + 1;
    let ways = field(subleaf.ebx, 22, 10) + 1;
    let sets = u64::from(subleaf.ecx) + 1;
    Some(Cache {
        level: field(subleaf.eax, 5, 3) as u8,
        kind,
        bytes: sets * u64::from(ways) * u64::from(partitions) * u64::from(line),
        line_bytes: Some(line as usize),
        shared_by: Vec::new(),
    })
}

/// The highest leaf of the range that starts at `base`.
#[cfg(target_arch = "x86_64")]
fn highest(base: u32) -> u32 {
    __cpuid(base).eax
}

#[cfg(target_arch = "x86_64")]
fn bit(register: u32, bit: u32) -> bool {
    register >> bit & 1 == 1
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// The third cache of an EPYC 7763: 32 MiB in 16 ways of lines of 64 bytes.
    #[test]
    fn a_cache_is_read_as_the_manuals_say() {
        let told = |eax| CpuidResult {
            eax,
            ebx: 15 << 22 | 63,
            ecx: 0x7FFF,
            edx: 0,
        };
        let cache = cache(told(0x163)).unwrap();
        assert_eq!((cache.level, cache.kind), (3, CacheKind::Unified));
        assert_eq!((cache.bytes, cache.line_bytes), (32 << 20, Some(64)));
        // No cache, and one for instructions.
        assert!(super::cache(told(0x160)).is_none() && super::cache(told(0x122)).is_none());
    }
}
