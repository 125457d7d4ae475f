//! Spinning to an instant with as little power as this CPU allows.
//!
//! Some CPUs have an instruction that waits for a time and hardly uses power:
//! TPAUSE (Intel, 12th generation and later), MWAITX (AMD, since 2015) and WFET
//! (ARM with FEAT_WFxT). Reported savings: 10-20 % of package power with TPAUSE
//! (yuzu#9982), 69-71 W down to 61-63 W with MWAITX (yuzu#10935). Which one
//! there is gets detected once, at run time; else the pause hint does it.
//!
//! No wait is the later for that: the CPU is asked before a nap, and where its
//! counter must be timed against the clock, that takes the time between two spins.
//!
//! The instructions are asked for less than the time left (`plan.rs`) and the
//! last microseconds are always spun with the pause hint, so they cannot make a
//! wait late by more than an interrupt would. They may end at any moment, and
//! the system caps them (Linux: `umwait_control`), so [`until`] loops.

use crate::clock::{self, Tick};
use std::sync::atomic::{AtomicU8, Ordering};

#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod platform;
#[cfg(all(
    target_arch = "aarch64",
    any(target_os = "linux", target_os = "android")
))]
#[path = "aarch64.rs"]
mod platform;
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

mod plan;

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
    // Whoever detects it at the same time finds the same.
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
/// loses its CPU.
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
    loop {
        std::hint::spin_loop();
        let now = clock::now();
        if now >= deadline {
            return now;
        }
    }
}

fn with_low_power(kind: SpinInstruction, deadline: Tick, mut now: Tick) -> Tick {
    while let Some(ask) = plan::ask(deadline.since(now)) {
        if !platform::wait(kind, ask) {
            break;
        }
        now = clock::now();
    }
    if now >= deadline {
        return now;
    }
    with_pause(deadline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::Nanos;

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
}
