//! `rep stosb`, which every x86-64 CPU has; it is fast since Ivy Bridge and Zen 3
//! (ERMS).

use std::arch::asm;
use std::ptr::NonNull;

pub(super) unsafe fn zero(start: NonNull<u8>, bytes: usize) {
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
