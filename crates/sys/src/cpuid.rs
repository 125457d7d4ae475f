//! What the CPUID instruction of x86-64 tells; nothing elsewhere.
//!
//! A hypervisor or a kernel without support hides a feature by clearing its
//! bit, so a set bit means that the instruction may be used.

use crate::memory::Cache;

/// TPAUSE, UMONITOR and UMWAIT: leaf 7.0, ECX bit 5 (Intel SDM).
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_waitpkg() -> bool {
    highest(0) >= 7 && bit(__cpuid_count(7, 0).ecx, 5)
}

/// MONITORX and MWAITX: leaf 8000_0001, ECX bit 29 (AMD APM volume 3).
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_monitorx() -> bool {
    highest(EXTENDED) > EXTENDED && bit(__cpuid(EXTENDED + 1).ecx, 29)
}

/// CLZERO: leaf 8000_0008, EBX bit 0 (AMD APM volume 3). What it zeroes is a
/// cache line, which has to be one of 64 bytes: leaf 1, EBX bits 8 to 15, in
/// units of 8.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_clzero() -> bool {
    let line = (__cpuid(1).ebx >> 8 & 0xFF) * 8;
    highest(EXTENDED) >= EXTENDED + 8 && bit(__cpuid(EXTENDED + 8).ebx, 0) && line == 64
}

/// Whether the time-stamp counter runs at one rate, whatever the CPU does: leaf
/// 8000_0007, EDX bit 8 (Intel SDM; AMD APM volume 3).
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_invariant_counter() -> bool {
    highest(EXTENDED) >= EXTENDED + 7 && bit(__cpuid(EXTENDED + 7).edx, 8)
}

/// Whether this is a virtual machine: leaf 1, ECX bit 31. `None` where nothing
/// tells.
///
/// A Windows host that runs Hyper-V for its own protection sets the bit as well;
/// what tells it from its guests is the right to create partitions (leaf
/// 4000_0003, EBX bit 0; Microsoft, Hypervisor Top-Level Functional
/// Specification).
pub(crate) fn virtual_machine() -> Option<bool> {
    #[cfg(target_arch = "x86_64")]
    return Some(hypervisor_present() && !is_hyper_v_root());
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// The name that the hypervisor gives itself, such as `KVMKVMKVM`: leaf
/// 4000_0000.
pub(crate) fn hypervisor_name() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    if hypervisor_present() {
        let leaf = __cpuid(0x4000_0000);
        return text([leaf.ebx, leaf.ecx, leaf.edx]);
    }
    None
}

/// The name of the CPU: leaves 8000_0002 to 8000_0004.
pub(crate) fn model() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    if highest(EXTENDED) >= EXTENDED + 4 {
        let words = (2..=4)
            .map(|leaf| __cpuid(EXTENDED + leaf))
            .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx]);
        return text(words);
    }
    None
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
use crate::memory::CacheKind;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};

#[cfg(target_arch = "x86_64")]
const EXTENDED: u32 = 0x8000_0000;

#[cfg(target_arch = "x86_64")]
fn hypervisor_present() -> bool {
    bit(__cpuid(1).ecx, 31)
}

#[cfg(target_arch = "x86_64")]
fn is_hyper_v_root() -> bool {
    let leaf = __cpuid(0x4000_0000);
    leaf.eax >= 0x4000_0003
        && text([leaf.ebx, leaf.ecx, leaf.edx]).as_deref() == Some("Microsoft Hv")
        && bit(__cpuid(0x4000_0003).ebx, 0)
}

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

/// The characters in registers, without padding; `None` when there are none.
#[cfg(target_arch = "x86_64")]
fn text(registers: impl IntoIterator<Item = u32>) -> Option<String> {
    let bytes: Vec<u8> = registers.into_iter().flat_map(u32::to_le_bytes).collect();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
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
