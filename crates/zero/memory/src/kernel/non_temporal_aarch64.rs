//! `stnp`, the store of 64-bit ARM with the hint that nobody reads it soon.

use super::Routine;
use std::arch::asm;
use std::ptr::NonNull;

pub(super) fn detect() -> Routine {
    zero
}

unsafe fn zero(start: NonNull<u8>, bytes: usize) {
    // SAFETY: writes zeros from `start` to `end`, 64 bytes at a time, of which a
    // page has a whole number. The caller says that they are pages of a mapping,
    // which may be written so (`mapping.rs`). A release covers these stores as
    // it does others: only loads with the hint are ordered less (Arm ARM,
    // "Load/Store Non-temporal Pair").
    unsafe {
        let end = start.add(bytes).as_ptr();
        asm!(
            "movi v0.2d, #0",
            "b 3f",
            "2:",
            "stnp q0, q0, [{line}]",
            "stnp q0, q0, [{line}, #32]",
            "add {line}, {line}, #64",
            "3:",
            "cmp {line}, {end}",
            "b.lo 2b",
            line = inout(reg) start.as_ptr() => _,
            end = in(reg) end,
            out("v0") _,
            options(nostack),
        );
    }
}
