//! The names of the crate [spin_sleep](https://docs.rs/spin_sleep) 1, waiting as punctual does: who
//! has `use spin_sleep::...` writes `use punctual::spin_sleep::...`.
//!
//! What it learns takes the place of a native accuracy and a spin strategy: both are
//! kept and given back, and nothing else is made of them. Instead of `LoopHelper` there is a
//! [`Ticker`](crate::Ticker).
//!
//! ```
//! use std::time::Duration;
//! use punctual::spin_sleep::{SpinSleeper, SpinStrategy};
//!
//! let sleeper = SpinSleeper::new(100_000).with_spin_strategy(SpinStrategy::YieldThread);
//! sleeper.sleep(Duration::from_micros(300));
//! ```

use std::time::{Duration, Instant};

/// Seconds.
pub type Seconds = f64;
/// Nanoseconds.
pub type Nanoseconds = u64;
/// Nanoseconds of less than a second.
pub type SubsecondNanoseconds = u32;

/// Sleeps as [`crate::sleep`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpinSleeper {
    native_accuracy_ns: SubsecondNanoseconds,
    spin_strategy: SpinStrategy,
}

/// How spin_sleep spins; punctual uses what the CPU has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpinStrategy {
    /// `std::thread::yield_now`.
    YieldThread,
    /// `std::hint::spin_loop`.
    SpinLoopHint,
}

/// As spin_sleep has it on this system.
impl Default for SpinStrategy {
    fn default() -> Self {
        match cfg!(windows) {
            true => Self::SpinLoopHint,
            false => Self::YieldThread,
        }
    }
}

/// With the native accuracy of 125 us that spin_sleep has outside of Windows.
impl Default for SpinSleeper {
    fn default() -> Self {
        Self::new(125_000)
    }
}

impl SpinSleeper {
    /// A sleeper. The accuracy is kept, and nothing made of it.
    pub fn new(native_accuracy_ns: SubsecondNanoseconds) -> Self {
        Self {
            native_accuracy_ns,
            spin_strategy: SpinStrategy::default(),
        }
    }

    /// What it was made with.
    pub fn native_accuracy_ns(self) -> SubsecondNanoseconds {
        self.native_accuracy_ns
    }

    /// What it was given.
    pub fn spin_strategy(self) -> SpinStrategy {
        self.spin_strategy
    }

    /// Keeps another spin strategy; nothing is made of it.
    #[must_use]
    pub fn with_spin_strategy(mut self, strategy: SpinStrategy) -> Self {
        self.spin_strategy = strategy;
        self
    }

    /// [`crate::sleep`].
    pub fn sleep(self, duration: Duration) {
        crate::sleep(duration);
    }

    /// [`crate::sleep_until`].
    pub fn sleep_until(self, deadline: Instant) {
        crate::sleep_until(deadline);
    }

    /// Sleeps so many seconds; not at all for what is not above zero.
    pub fn sleep_s(self, seconds: Seconds) {
        if seconds > 0.0 {
            self.sleep(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
    }

    /// Sleeps so many nanoseconds.
    pub fn sleep_ns(self, nanoseconds: Nanoseconds) {
        self.sleep(Duration::from_nanos(nanoseconds));
    }
}

/// [`crate::sleep`].
pub fn sleep(duration: Duration) {
    crate::sleep(duration);
}

/// [`crate::sleep_until`].
pub fn sleep_until(deadline: Instant) {
    crate::sleep_until(deadline);
}

/// One sleep of the OS, however late: [`std::thread::sleep`].
pub fn native_sleep(duration: Duration) {
    std::thread::sleep(duration);
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    /// What users of spin_sleep write, with either crate.
    macro_rules! used {
        ($name:ident, $crate_:path) => {
            #[test]
            fn $name() {
                use $crate_ as used;
                let begin = Instant::now();
                let ms = Duration::from_millis(1);
                used::sleep(ms);
                used::sleep_until(begin + 2 * ms);
                used::native_sleep(Duration::ZERO);
                let sleeper = used::SpinSleeper::default()
                    .with_spin_strategy(used::SpinStrategy::SpinLoopHint);
                sleeper.sleep(ms);
                let ns: used::Nanoseconds = 1_000;
                sleeper.sleep_ns(ns);
                let seconds: used::Seconds = 0.001;
                sleeper.sleep_s(seconds);
                sleeper.sleep_s(-1.0);
                sleeper.sleep_s(f64::NAN);
                sleeper.sleep_until(begin);
                assert!(begin.elapsed() >= 4 * ms);
                let accuracy: used::SubsecondNanoseconds = 7;
                let kept = used::SpinSleeper::new(accuracy);
                assert_eq!(kept.native_accuracy_ns(), 7);
                assert_eq!(kept.spin_strategy(), used::SpinStrategy::default());
                assert_eq!(sleeper.spin_strategy(), used::SpinStrategy::SpinLoopHint);
            }
        };
    }

    used!(written_for_spin_sleep, ::spin_sleep);
    used!(written_for_punctual, crate::spin_sleep);
}
