//! Estimates for naps, by their length.

use crate::estimators::usual::Usual;

const SHORTEST: u32 = 15;
const LONGEST: u32 = 24;

/// The number of classes: one for each power of two nanoseconds left when a nap
/// begins, from below 66 us to above 17 ms.
pub(super) const CLASSES: usize = (LONGEST - SHORTEST + 1) as usize;

/// The class of a nap that begins with this much left.
#[inline]
pub(super) fn of_ns(left_ns: u64) -> usize {
    let octave = left_ns.checked_ilog2().unwrap_or(0);
    (octave.clamp(SHORTEST, LONGEST) - SHORTEST) as usize
}

/// The shortest time of a class; of the first, the length that stands for it where
/// overshoot depends on the length.
pub(super) fn from_ns(class: usize) -> u64 {
    1 << (class as u32 + SHORTEST)
}

/// The CPU time of a nap until one is metered: system calls, two context switches,
/// leaving the idle state on bare metal.
const CPU_NS: f32 = 5e3;
/// A nap cannot take more CPU time; the rest was another's.
const CPU_MAX_NS: f32 = 400e3;
/// Metering takes two system calls, so only the first four naps of a class and every
/// sixteenth are metered; each moves the mean by an eighth.
const METERED_FIRST: u32 = 4;
const METERED_EVERY: u32 = 16;
const METERED_STEP: f32 = 1.0 / 8.0;

/// The estimates of one class, in half a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(32))]
pub(super) struct Class {
    pub(super) usual: Usual,
    pub(super) cpu_ns: f32,
    pub(super) naps: u32,
    /// Waits spun since the last nap, and after how many of them a nap is tried.
    pub(super) spun: u16,
    pub(super) try_every: u16,
}

impl Class {
    /// No nap seen, and an overshoot of `believed_ns` expected.
    pub(super) const fn new(believed_ns: f32) -> Self {
        Self {
            usual: Usual::new(believed_ns),
            cpu_ns: CPU_NS,
            naps: 0,
            spun: 0,
            try_every: 1,
        }
    }

    pub(super) fn wants_metering(&self) -> bool {
        self.naps < METERED_FIRST || self.naps % METERED_EVERY == 0
    }

    /// Learns the CPU time of a nap, which is not counted yet.
    #[cold]
    pub(super) fn meter(&mut self, cpu_ns: f32) {
        let step = (1.0 / (self.naps as f32 + 1.0)).max(METERED_STEP);
        self.cpu_ns += (cpu_ns.min(CPU_MAX_NS) - self.cpu_ns) * step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other() {
        for class in 1..CLASSES {
            assert_eq!(of_ns(from_ns(class)), class);
            assert_eq!(of_ns(from_ns(class) - 1), class - 1);
        }
        assert_eq!(of_ns(0), 0);
        assert_eq!(of_ns(u64::MAX), CLASSES - 1);
    }
}
