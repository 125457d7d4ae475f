//! The ways of 64-bit ARM: `stnp` and `dc zva`.

use super::Routine;
use std::arch::asm;
use std::ptr::NonNull;

/// `stnp`, the store with the hint that its data will not be read soon.
pub(super) unsafe fn stnp(start: NonNull<u8>, bytes: usize) {
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

/// `dc zva`, which zeroes the block that an address lies in. Bit 4 says that programs may not use it (Arm ARM, DCZID_EL0).
pub(super) fn detect_dc_zva() -> Option<Routine> {
    (id() >> 4 & 1 == 0).then_some(dc_zva)
}

unsafe fn dc_zva(start: NonNull<u8>, bytes: usize) {
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
