//! Spinning to an instant with as little power as this CPU allows.
//!
//! Some CPUs have an instruction that waits for a time and hardly uses power:
//! TPAUSE (Intel, 12th generation and later), MWAITX (AMD, since 2015) and WFET
//! (ARM with FEAT_WFxT). Reported savings: 10-20 % of package power with TPAUSE
//! (yuzu#9982), 69-71 W down to 61-63 W with MWAITX (yuzu#10935). Which one
//! there is gets detected once, at run time; else the pause hint does it.
//!
//! The instructions are asked for less than the time left (`plan.rs`) and the
//! last microseconds are always spun with the pause hint, so they cannot make a
//! wait late by more than an interrupt would. They may end at any moment, and
//! the system caps them (Linux: `umwait_control`), so [`until`] loops.

use crate::clock::{self, Tick};
use std::sync::OnceLock;

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
#[cfg(not(any(
    target_arch = "x86_64",
    all(
        target_arch = "aarch64",
        any(target_os = "linux", target_os = "android")
    ),
)))]
#[path = "fallback.rs"]
mod platform;

mod plan;

/// How this CPU spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Intel `TPAUSE` (WAITPKG).
    Tpause,
    /// AMD `MWAITX` (MONITORX).
    Mwaitx,
    /// ARM `WFET` (FEAT_WFxT).
    Wfet,
    /// The pause hint of the CPU, which is `std::hint::spin_loop`.
    Pause,
}

impl Kind {
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

/// How this CPU spins. The first call in a process detects it, and on a CPU
/// with a timed wait instruction also times its counter, about a millisecond.
pub fn kind() -> Kind {
    LOW_POWER
        .get_or_init(platform::LowPower::detect)
        .as_ref()
        .map_or(Kind::Pause, platform::LowPower::kind)
}

/// Spins until the clock has reached `deadline`, and returns that reading: the
/// first one that is not before it.
///
/// Uses the instruction of [`kind`] once that has been called, which every
/// [`Sleeper`](crate::wait::Sleeper) does when it is made; until then the pause
/// hint, since detection could take longer than the spin.
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
    match LOW_POWER.get() {
        Some(Some(low_power)) => with_low_power(low_power, deadline, now),
        _ => with_pause(deadline),
    }
}

/// The detected instruction with its calibration; `None` inside when this CPU
/// has none.
static LOW_POWER: OnceLock<Option<platform::LowPower>> = OnceLock::new();

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

fn with_low_power(low_power: &platform::LowPower, deadline: Tick, mut now: Tick) -> Tick {
    while let Some(ask) = plan::ask(deadline.since(now)) {
        low_power.wait(ask);
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
        assert!(!kind().name().is_empty());
    }
}
