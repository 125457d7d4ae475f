//! The ways of x86-64: `rep stosb`, stores that go past the caches, `clzero`; and what the CPUID
//! instruction tells of zeroing and of caches.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
use std::ptr::NonNull;

use super::Routine;
use crate::{Cache, CacheKind};

/// `rep stosb`, which every x86-64 CPU has; it is fast since Ivy Bridge and Zen 3 (ERMS).
pub(super) unsafe fn rep_stosb(start: NonNull<u8>, bytes: usize) {
    // SAFETY: stores as many zeros as it is told, upwards, since the direction
    // flag is clear at the start of inline assembly. The caller says that they
    // fall into pages of a mapping, which may be written so (`mapping.rs`).
    // A store after it is not seen before them (Intel SDM volume 3A, "Fast-String
    // Operation and Out-of-Order Stores").
    unsafe {
        asm!(
            "rep stosb",
            inout("rdi") start.as_ptr() => _,
            inout("rcx") bytes => _,
            in("al") 0_u8,
            options(nostack, preserves_flags),
        );
    }
}

/// Stores that go past the caches: `vmovntdq` of 32 bytes where there is AVX, else `movntdq` of
/// 16. Stores of 64 bytes (AVX-512) are left out. One store or two fill the buffer of a line,
/// which goes to memory the same way.
pub(super) fn detect_non_temporal() -> Routine {
    if std::arch::is_x86_feature_detected!("avx") {
        avx
    } else {
        sse2
    }
}

unsafe fn avx(start: NonNull<u8>, bytes: usize) {
    // SAFETY: writes zeros from `start` to `end`, a line of 64 bytes at a time, of which a page
    // has a whole number. The caller guarantees that they are pages of a mapping, which may be
    // written so (`mapping.rs`). The CPU has AVX. The upper half of the register is zero from the
    // first instruction on and is never written after that. Thus later SSE code is not slowed down.
    // The fence puts the stores, which are weakly ordered, before everything that follows.
    unsafe {
        let end = start.add(bytes).as_ptr();
        asm!(
            "vpxor xmm0, xmm0, xmm0",
            "jmp 3f",
            "2:",
            "vmovntdq [{line}], ymm0",
            "vmovntdq [{line} + 32], ymm0",
            "add {line}, 64",
            "3:",
            "cmp {line}, {end}",
            "jb 2b",
            "sfence",
            line = inout(reg) start.as_ptr() => _,
            end = in(reg) end,
            out("xmm0") _,
            options(nostack),
        );
    }
}

unsafe fn sse2(start: NonNull<u8>, bytes: usize) {
    // SAFETY: as `avx`, with instructions that every x86-64 CPU has.
    unsafe {
        let end = start.add(bytes).as_ptr();
        asm!(
            "pxor xmm0, xmm0",
            "jmp 3f",
            "2:",
            "movntdq [{line}], xmm0",
            "movntdq [{line} + 16], xmm0",
            "movntdq [{line} + 32], xmm0",
            "movntdq [{line} + 48], xmm0",
            "add {line}, 64",
            "3:",
            "cmp {line}, {end}",
            "jb 2b",
            "sfence",
            line = inout(reg) start.as_ptr() => _,
            end = in(reg) end,
            out("xmm0") _,
            options(nostack),
        );
    }
}

pub(super) fn detect_clzero() -> Option<Routine> {
    has_clzero().then_some(clzero)
}

/// `clzero`, which zeroes the cache line that RAX points into. The stores are weakly
/// ordered, hence the fence (AMD APM volume 3, CLZERO).
unsafe fn clzero(start: NonNull<u8>, bytes: usize) {
    // SAFETY: writes zeros from `start` to `end`, a line at a time, which is 64
    // bytes on every CPU with the instruction (`has_clzero`). The caller says
    // that they are pages of a mapping, which may be written so (`mapping.rs`).
    unsafe {
        let end = start.add(bytes).as_ptr();
        asm!(
            "jmp 3f",
            "2:",
            "clzero",
            "add rax, 64",
            "3:",
            "cmp rax, {end}",
            "jb 2b",
            "sfence",
            inout("rax") start.as_ptr() => _,
            end = in(reg) end,
            options(nostack),
        );
    }
}

/// CLZERO: leaf 8000_0008, EBX bit 0 (AMD APM volume 3). It zeroes a cache line, which has to be
/// one of 64 bytes: leaf 1, EBX bits 8 to 15, in units of 8.
fn has_clzero() -> bool {
    let line = (__cpuid(1).ebx >> 8 & 0xFF) * 8;
    highest(EXTENDED) >= EXTENDED + 8 && bit(__cpuid(EXTENDED + 8).ebx, 0) && line == 64
}

/// The caches for data: leaf 4 of Intel, leaf 8000_001D of AMD, which have the
/// same layout (Intel SDM; AMD APM volume 3). Which CPUs share them is told by
/// their numbers in the hardware only, and left out.
pub(crate) fn caches() -> Vec<Cache> {
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

const EXTENDED: u32 = 0x8000_0000;

/// More than any CPU has; subleaves beyond the last cache are of type 0.
const MOST_CACHES: u32 = 8;

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
        shared_by: Vec::new(),
    })
}

/// The highest leaf of the range that starts at `base`.
fn highest(base: u32) -> u32 {
    __cpuid(base).eax
}

fn bit(register: u32, bit: u32) -> bool {
    register >> bit & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mapping, PAGE};

    /// The one that a CPU of today does not pick.
    #[test]
    fn the_stores_of_16_bytes_zero_their_pages() {
        let mapping = Mapping::new(5 * PAGE).unwrap();
        mapping.dirty(0..5);
        let (start, bytes) = mapping.span(1..4);
        // SAFETY: whole pages of a mapping; every x86-64 CPU has SSE2.
        unsafe { sse2(start, bytes) };
        assert_eq!(mapping.first_dirty(1..5), Some(4));
        assert_eq!(mapping.first_zeroed(0..5), Some(1));
        assert_eq!(mapping.first_zeroed(4..5), None);
    }

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
        assert_eq!(cache.bytes, 32 << 20);
        // No cache, and one for instructions.
        assert!(super::cache(told(0x160)).is_none() && super::cache(told(0x122)).is_none());
    }
}
