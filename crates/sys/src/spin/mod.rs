//! Spinning to an instant with as little power as this CPU allows.
//!
//! Some CPUs have an instruction that waits for a time and hardly uses power:
//! TPAUSE (Intel, 12th generation and later), MWAITX (AMD, since 2015) and WFET
//! (ARM with FEAT_WFxT). Reported savings: 10-20 % of package power with TPAUSE
//! (yuzu#9982), 69-71 W down to 61-63 W with MWAITX (yuzu#10935). Which one
//! there is gets detected once, at run time; else the pause hint does it.
//!
//! No wait is later for that. The CPU is asked before a nap, and where its counter must be timed
//! against the clock, two spins do that.
//!
//! The instructions get less than the time left, and the last microseconds are always spun with
//! the pause hint. They cannot make a wait later than an interrupt would. They may end at any
//! moment, and the system caps them (Linux: `umwait_control`), so [`until`] loops.

use crate::clock::{self, Tick};
use punctual_core::Nanos;
use std::sync::atomic::{AtomicU8, Ordering};

#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod platform;
#[cfg(all(
    target_arch = "aarch64",
    any(target_os = "linux", target_os = "android")
))]
mod platform {
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
        // At most 100 us are asked for, so this fits with any frequency.
        let deadline = now.saturating_add(length.as_ns().saturating_mul(hz) / 1_000_000_000);
        // SAFETY: `detect` found FEAT_WFxT, so the instruction (WFET Xt, written as its
        // encoding for assemblers that do not know it) exists.
        unsafe { asm!(".inst 0xd5031000", in("x0") deadline, options(nomem, nostack)) };
        true
    }

    /// `asm/hwcap.h` of Linux 5.19 and later.
    const HWCAP2_WFXT: libc::c_ulong = 1 << 31;
}
// Windows and macOS tell no program whether the CPU has WFET, so ARM there
// stays with the hint, as does every other processor.
/// No timed wait instruction.
#[cfg(not(any(
    target_arch = "x86_64",
    all(
        target_arch = "aarch64",
        any(target_os = "linux", target_os = "android")
    ),
)))]
mod platform {
    use super::SpinInstruction;
    use punctual_core::Nanos;

    pub(super) fn detect() -> SpinInstruction {
        SpinInstruction::Pause
    }

    /// Does not wait.
    pub(super) fn wait(_kind: SpinInstruction, _length: Nanos) -> bool {
        false
    }
}

/// How this CPU spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpinInstruction {
    /// Intel `TPAUSE` (WAITPKG).
    Tpause,
    /// AMD `MWAITX` (MONITORX).
    Mwaitx,
    /// ARM `WFET` (FEAT_WFxT).
    Wfet,
    /// The pause hint of the CPU, which is `std::hint::spin_loop`.
    Pause,
}

impl SpinInstruction {
    const ALL: [Self; 4] = [Self::Tpause, Self::Mwaitx, Self::Wfet, Self::Pause];

    /// The name the user reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tpause => "tpause",
            Self::Mwaitx => "mwaitx",
            Self::Wfet => "wfet",
            Self::Pause => "pause",
        }
    }
}

/// How this CPU spins. The first call in a process asks it, which takes
/// microseconds, more in a virtual machine.
#[inline]
pub fn kind() -> SpinInstruction {
    known().unwrap_or_else(detect)
}

/// How this CPU spins, if it was asked before.
#[inline]
fn known() -> Option<SpinInstruction> {
    let place = usize::from(KIND.load(Ordering::Relaxed)).checked_sub(1)?;
    SpinInstruction::ALL.get(place).copied()
}

#[cold]
fn detect() -> SpinInstruction {
    let kind = platform::detect();
    // A thread that detects it at the same time gets the same result.
    KIND.store(kind as u8 + 1, Ordering::Relaxed);
    kind
}

/// One more than the place of the [`SpinInstruction`]; 0 until it is detected.
static KIND: AtomicU8 = AtomicU8::new(0);

/// Spins until the clock has reached `deadline`, and returns that reading: the
/// first one that is not before it.
///
/// Uses the instruction of [`kind`] once that has been called, as the first
/// [`Nap`](crate::nap::Nap) of a process does; until then, and until the counter is
/// timed, the pause hint.
///
/// # Accuracy
/// Never early. Late by the cost of one reading of the clock, unless the thread
/// loses its CPU. On a clock that [stands still](clock::stands) it returns `deadline`, as no
/// spin would end.
#[inline]
pub fn until(deadline: Tick) -> Tick {
    let now = clock::now();
    if now >= deadline {
        return now;
    }
    match known() {
        None | Some(SpinInstruction::Pause) => with_pause(deadline),
        Some(kind) => with_low_power(kind, deadline, now),
    }
}

#[inline]
fn with_pause(deadline: Tick) -> Tick {
    let mut spins = 0_u32;
    loop {
        std::hint::spin_loop();
        let now = clock::now();
        if now >= deadline {
            return now;
        }
        spins = spins.wrapping_add(1);
        if spins % MANY == 0 && clock::stands(now) {
            return deadline;
        }
    }
}

/// This number of readings of a moving clock takes more than a tenth of a millisecond.
const MANY: u32 = 1 << 13;

/// This number of the longest waits of an instruction takes a tenth of a second.
const MANY_WAITS: u32 = 1 << 10;

fn with_low_power(kind: SpinInstruction, deadline: Tick, mut now: Tick) -> Tick {
    let mut waits = 0_u32;
    while let Some(ask) = ask(deadline.since(now)) {
        if !platform::wait(kind, ask) {
            break;
        }
        now = clock::now();
        waits = waits.wrapping_add(1);
        if waits % MANY_WAITS == 0 && clock::stands(now) {
            return deadline;
        }
    }
    if now >= deadline {
        return now;
    }
    with_pause(deadline)
}

/// The time to ask for with `left` to go. `None` when the rest is too short for the instruction
/// and belongs to the pause hint.
fn ask(left: Nanos) -> Option<Nanos> {
    if left < WORTHWHILE {
        return None;
    }
    Some((left - EARLY).min(LONGEST))
}

/// Below this the hint is used. Requests of a few hundred cycles may ignore the chosen idle state
/// ("power-aware waiting" review, ICPE 2025), and entering and leaving it has a cost.
const WORTHWHILE: Nanos = Nanos::from_us(4);

/// The spin stops this much before the deadline. It is about three times the exit latency of C0.2
/// and C1 that vendors state, well below 1 us. It also covers the counter's calibration error over
/// [`LONGEST`], which is bounded at 1 %.
const EARLY: Nanos = Nanos::from_us(2);

/// The most to ask for at once. Linux caps TPAUSE at 100,000 cycles unless told
/// otherwise (`umwait_control/max_time`), and the event stream of ARM ends a
/// wait every 100 us, so longer requests bring nothing.
const LONGEST: Nanos = Nanos::from_us(100);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn never_early() {
        kind();
        for us in [0, 1, 3, 5, 20, 500] {
            let deadline = clock::now() + Nanos::from_us(us);
            let end = until(deadline);
            assert!(end >= deadline);
            assert!(clock::now() >= end);
        }
    }

    #[test]
    fn a_past_deadline_returns_at_once() {
        assert!(until(Tick::from_ns(0)) > Tick::from_ns(0));
    }

    #[test]
    fn detection_is_settled_once() {
        assert_eq!(kind(), kind());
        assert_eq!(known(), Some(kind()));
        assert!(!kind().name().is_empty());
    }

    #[test]
    fn the_last_microseconds_belong_to_the_hint() {
        assert_eq!(ask(Nanos::ZERO), None);
        assert_eq!(ask(Nanos::new(3_999)), None);
        assert_eq!(ask(Nanos::from_us(4)), Some(Nanos::from_us(2)));
    }

    #[test]
    fn one_request_is_bounded() {
        assert_eq!(ask(Nanos::MAX), Some(LONGEST));
    }

    proptest! {
        /// Even with a counter that is 1 % off the wait cannot be overrun.
        #[test]
        fn a_request_ends_before_the_deadline(left in any::<u64>()) {
            if let Some(ask) = ask(Nanos::new(left)) {
                prop_assert!(ask.as_ns() + ask.as_ns() / 100 < left);
                prop_assert!(!ask.is_zero());
            }
        }
    }
}
