//! `dc zva`, which zeroes the block that an address lies in.

use super::Routine;
use std::arch::asm;
use std::ptr::NonNull;

/// Bit 4 says that programs may not use it (Arm ARM, DCZID_EL0).
pub(super) fn detect() -> Option<Routine> {
    (id() >> 4 & 1 == 0).then_some(zero)
}

unsafe fn zero(start: NonNull<u8>, bytes: usize) {
    // SAFETY: writes zeros from `start` to `end`, a block at a time; a page has a
    // whole number of them, as they are powers of two and 2 KiB at most. The
    // caller says that they are pages of a mapping, which may be written so
    // (`mapping.rs`).
    unsafe {
        let end = start.add(bytes).as_ptr();
        asm!(
            "b 3f",
            "2:",
            "dc zva, {line}",
            "add {line}, {line}, {block}",
            "3:",
            "cmp {line}, {end}",
            "b.lo 2b",
            line = inout(reg) start.as_ptr() => _,
            block = in(reg) block(),
            end = in(reg) end,
            options(nostack),
        );
    }
}

/// The bytes of a block: bits 0 to 3 say how often four is doubled.
fn block() -> usize {
    4 << (id() & 0xF)
}

fn id() -> usize {
    let id: usize;
    // SAFETY: every program may read DCZID_EL0, always.
    unsafe { asm!("mrs {}, dczid_el0", out(reg) id, options(nomem, nostack, preserves_flags)) };
    id
}
