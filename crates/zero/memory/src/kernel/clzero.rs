//! `clzero`, which zeroes the cache line that RAX points into.

use super::Routine;
use crate::cpuid;
use std::arch::asm;
use std::ptr::NonNull;

pub(super) fn detect() -> Option<Routine> {
    cpuid::has_clzero().then_some(zero)
}

/// The stores are weakly ordered, hence the fence (AMD APM volume 3, CLZERO).
unsafe fn zero(start: NonNull<u8>, bytes: usize) {
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
