//! The ways of x86-64: `rep stosb`, stores that go past the caches, `clzero`.

use super::Routine;
use crate::cpuid;
use std::arch::asm;
use std::ptr::NonNull;

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

/// Stores that go past the caches: `vmovntdq` of 32 bytes where there is AVX, else
/// `movntdq` of 16. Stores of 64 bytes (AVX-512) are left out: what fills the buffer of a line
/// in one store or in two goes to memory the same way.
pub(super) fn detect_non_temporal() -> Routine {
    if std::arch::is_x86_feature_detected!("avx") {
        avx
    } else {
        sse2
    }
}

unsafe fn avx(start: NonNull<u8>, bytes: usize) {
    // SAFETY: writes zeros from `start` to `end`, a line of 64 bytes at a time,
    // of which a page has a whole number. The caller says that they are pages of
    // a mapping, which may be written so (`mapping.rs`), and the CPU has AVX.
    // The upper half of the register is zero from the first instruction on and
    // is never written after that, so nothing slows down later SSE code. The
    // fence puts the stores, which are weakly ordered, before all that follows.
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
    cpuid::has_clzero().then_some(clzero)
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
}
