//! WFET on ARM under Linux, which tells of it in the auxiliary vector.

use super::SpinInstruction;
use punctual_core::Nanos;
use std::arch::asm;

pub(super) fn detect() -> SpinInstruction {
    // SAFETY: reads the auxiliary vector, has no preconditions.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    if capabilities & HWCAP2_WFXT == 0 {
        SpinInstruction::Pause
    } else {
        SpinInstruction::Wfet
    }
}

/// Waits until the counter has advanced by `length`, an event, or an interrupt.
pub(super) fn wait(_kind: SpinInstruction, length: Nanos) -> bool {
    let (hz, now): (u64, u64);
    // SAFETY: Linux lets every program read CNTFRQ_EL0 and CNTVCT_EL0. `isb` keeps
    // the reading from being taken early.
    unsafe {
        asm!(
            "mrs {hz}, cntfrq_el0",
            "isb",
            "mrs {now}, cntvct_el0",
            hz = out(reg) hz,
            now = out(reg) now,
            options(nomem, nostack),
        );
    }
    // What is asked for is at most 100 us, so this fits whatever the frequency.
    let deadline = now.saturating_add(length.as_ns().saturating_mul(hz) / 1_000_000_000);
    // SAFETY: `detect` found FEAT_WFxT, so the instruction (WFET Xt, written as its
    // encoding for assemblers that do not know it) exists.
    unsafe { asm!(".inst 0xd5031000", in("x0") deadline, options(nomem, nostack)) };
    true
}

/// `asm/hwcap.h` of Linux 5.19 and later.
const HWCAP2_WFXT: libc::c_ulong = 1 << 31;
