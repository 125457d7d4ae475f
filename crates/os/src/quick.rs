//! A clock that is cheap enough to be read within what it times.
//!
//! A lock is held, and a page zeroed, in some tens of nanoseconds; a reading of
//! the system's clock can take as long. On x86-64 the time-stamp counter of the
//! CPU itself is read, where it runs at one rate in all states of power.

use crate::clock;
use punctual_core::Nanos;

#[cfg(target_arch = "x86_64")]
use crate::{cpuid, probe, scale::Scale};

/// A clock whose reading is as cheap as this computer allows. Only differences
/// mean something.
///
/// # Accuracy
/// Its rate is that of [`clock`] to about ten parts in a million.
/// A difference between two CPUs is as good as their counters agree; on each CPU
/// by itself it never goes back.
#[derive(Clone, Copy, Debug)]
pub struct QuickClock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    #[cfg(target_arch = "x86_64")]
    Counter(&'static Scale),
    Clock,
}

impl QuickClock {
    /// The clock of this computer. The first call in a process finds out the
    /// rate of the counter, for 10 ms.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if cpuid::has_invariant_counter() {
            return Self(Source::Counter(probe::tsc::scale()));
        }
        Self(Source::Clock)
    }

    /// Nanoseconds since whatever it counts from. Nothing keeps the CPU from
    /// reading its counter some instructions early or late.
    #[inline]
    pub fn now(&self) -> Nanos {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Counter(scale) => Nanos::new(scale.to_ns(probe::tsc::count())),
            Source::Clock => Nanos::new(clock::now().as_ns()),
        }
    }

    /// As [`now`](Self::now), after everything before it, and before everything
    /// after it: what was stored is seen by other CPUs by then. Else a CPU goes on
    /// while stores to pages wait for their cache lines, and the time they take
    /// shows at the next lock.
    ///
    /// # Platform notes
    /// x86-64: MFENCE and LFENCE before, LFENCE after the reading (Intel SDM,
    /// RDTSC). Elsewhere a sequentially consistent fence before it.
    #[inline]
    pub fn settled(&self) -> Nanos {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Counter(scale) => Nanos::new(scale.to_ns(probe::tsc::settled_count())),
            Source::Clock => {
                std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                Nanos::new(clock::now().as_ns())
            }
        }
    }

    /// A description for the user.
    pub fn name(&self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Source::Counter(_) => "time-stamp counter",
            Source::Clock => clock::name(),
        }
    }

    /// The cost of one [settled](Self::settled) reading with nothing else under way, in
    /// nanoseconds. It is the least mean of a few rows of readings, so that an interrupt does not
    /// count.
    pub fn cost_ns(&self) -> f64 {
        const ROWS: usize = 10;
        const READINGS: u32 = 1_000;
        let row = || {
            let start = self.now();
            for _ in 0..READINGS {
                std::hint::black_box(self.settled());
            }
            (self.now() - start).as_ns() as f64 / f64::from(READINGS)
        };
        (0..ROWS).map(|_| row()).fold(f64::INFINITY, f64::min)
    }
}

impl Default for QuickClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spin;

    #[test]
    fn it_runs_with_the_clock_and_costs_something() {
        let quick = QuickClock::new();
        let (start, first) = (clock::now(), quick.now());
        spin::until(start + Nanos::from_ms(2));
        let counted = quick.now() - first;
        assert!(counted > Nanos::from_us(1_900), "{counted}");
        let settled = quick.settled();
        assert!(settled >= first && quick.settled() >= settled);
        assert!(quick.cost_ns() > 0.0);
        assert!(!quick.name().is_empty());
    }
}
