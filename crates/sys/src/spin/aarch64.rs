//! WFET on ARM under Linux, which tells of it in the auxiliary vector.

use super::Kind;
use crate::scale::Scale;
use punctual_core::Nanos;
use std::arch::asm;

/// The counter that WFET waits on.
#[derive(Debug)]
pub(super) struct LowPower {
    counter: Scale,
}

impl LowPower {
    /// The hardware states the frequency of its counter, so there is nothing to
    /// time.
    pub(super) fn detect() -> Option<Self> {
        // SAFETY: reads the auxiliary vector, has no preconditions.
        let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
        if capabilities & HWCAP2_WFXT == 0 {
            return None;
        }
        let hz: u64;
        // SAFETY: Linux lets every program read CNTFRQ_EL0.
        unsafe { asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nomem, nostack)) };
        Scale::from_frequency(hz).map(|counter| Self { counter })
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::Wfet
    }

    /// Waits until the counter has advanced by `length`, an event, or an
    /// interrupt.
    pub(super) fn wait(&self, length: Nanos) {
        let now: u64;
        // SAFETY: Linux lets every program read CNTVCT_EL0. `isb` keeps the
        // reading from being taken early.
        unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) now, options(nomem, nostack)) };
        let deadline = now.saturating_add(self.counter.from_ns(length.as_ns()));
        // SAFETY: `detect` found FEAT_WFxT, so the instruction (WFET Xt, written
        // as its encoding for assemblers that do not know it) exists.
        unsafe { asm!(".inst 0xd5031000", in("x0") deadline, options(nomem, nostack)) };
    }
}

/// `asm/hwcap.h` of Linux 5.19 and later.
const HWCAP2_WFXT: libc::c_ulong = 1 << 31;
