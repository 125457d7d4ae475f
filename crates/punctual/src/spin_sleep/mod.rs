//! All public names of the crate [spin_sleep](https://docs.rs/spin_sleep) 1.3.3, with the same
//! signatures.
//!
//! To switch, add `use punctual::spin_sleep;` to each module that names `spin_sleep::...`, or
//! write `use punctual::spin_sleep::...` in place of `use spin_sleep::...`.
//!
//! As with spin_sleep, a sleep spins for at most the native accuracy of its [`SpinSleeper`],
//! in the way of its [`SpinStrategy`], and never ends early. Before that spin the thread
//! sleeps until its own waiter, which [`crate::sleep`] uses too, would begin to spin. Where
//! the OS wakes the thread on time, a large accuracy therefore costs less CPU time.
//!
//! A number of seconds that makes spin_sleep panic makes a sleep last a hundred years, or end
//! at once. A [`LoopHelper`] panics on it too.
//!
//! [`crate::sleep`] has no accuracy to choose, and learns how long to spin. In place of a
//! [`LoopHelper`] there is a [`Ticker`](crate::Ticker), whose ticks do not drift.
//!
//! ```
//! use std::time::Duration;
//! use punctual::spin_sleep::{self, LoopHelper, SpinSleeper, SpinStrategy};
//!
//! spin_sleep::sleep(Duration::from_micros(300));
//!
//! let sleeper = SpinSleeper::new(100_000).with_spin_strategy(SpinStrategy::YieldThread);
//! sleeper.sleep(Duration::from_micros(300));
//!
//! let mut helper = LoopHelper::builder().build_with_target_rate(250.0);
//! for _ in 0..3 {
//!     helper.loop_start();
//!     helper.loop_sleep();
//! }
//! ```

mod loop_helper;

use std::time::{Duration, Instant};

use crate::own::{has_clock, now, own, thread_clock};
use crate::waiter::after;

pub use loop_helper::{LoopHelper, LoopHelperBuilder};

/// Seconds.
pub type Seconds = f64;
/// Times per second.
pub type RatePerSecond = f64;
/// Nanoseconds.
pub type Nanoseconds = u64;
/// Nanoseconds of less than a second.
pub type SubsecondNanoseconds = u32;

/// Sleeps, and spins for the last part, which is its native accuracy at most.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::spin_sleep::SpinSleeper;
///
/// let sleeper = SpinSleeper::new(100_000);
/// assert_eq!(sleeper.native_accuracy_ns(), 100_000);
/// sleeper.sleep(Duration::from_micros(300));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpinSleeper {
    native_accuracy_ns: SubsecondNanoseconds,
    spin_strategy: SpinStrategy,
}

/// How the last part of a sleep is spun.
///
/// # Examples
///
/// ```
/// use punctual::spin_sleep::{SpinSleeper, SpinStrategy};
///
/// let sleeper = SpinSleeper::default().with_spin_strategy(SpinStrategy::SpinLoopHint);
/// assert_eq!(sleeper.spin_strategy(), SpinStrategy::SpinLoopHint);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpinStrategy {
    /// Calls [`std::thread::yield_now`] between two readings of the clock, so that another
    /// thread that wants the CPU gets it. Beside a busy thread a sleep can then end a time
    /// slice late.
    YieldThread,
    /// Calls [`std::hint::spin_loop`] between two readings of the clock.
    SpinLoopHint,
}

/// `SpinLoopHint` on Windows, `YieldThread` elsewhere.
impl Default for SpinStrategy {
    fn default() -> Self {
        match cfg!(windows) {
            true => Self::SpinLoopHint,
            false => Self::YieldThread,
        }
    }
}

/// With a native accuracy of 700 us on Windows and 125 us elsewhere.
impl Default for SpinSleeper {
    fn default() -> Self {
        Self::new(if cfg!(windows) { 700_000 } else { 125_000 })
    }
}

impl SpinSleeper {
    /// A sleeper that spins for at most `native_accuracy_ns`.
    pub fn new(native_accuracy_ns: SubsecondNanoseconds) -> Self {
        Self {
            native_accuracy_ns,
            spin_strategy: SpinStrategy::default(),
        }
    }

    /// Returns the native accuracy, in nanoseconds.
    pub fn native_accuracy_ns(self) -> SubsecondNanoseconds {
        self.native_accuracy_ns
    }

    /// Returns the spin strategy.
    pub fn spin_strategy(self) -> SpinStrategy {
        self.spin_strategy
    }

    /// The same sleeper with another spin strategy.
    #[must_use]
    pub fn with_spin_strategy(mut self, strategy: SpinStrategy) -> Self {
        self.spin_strategy = strategy;
        self
    }

    /// Sleeps for `duration`, at most a hundred years. Never less.
    pub fn sleep(self, duration: Duration) {
        self.sleep_until(after(now(), duration));
    }

    /// Sleeps until `deadline`. Never less; returns at once if it has passed.
    pub fn sleep_until(self, deadline: Instant) {
        self.wait(deadline, std::thread::yield_now);
    }

    /// Sleeps for so many seconds; not at all unless they are above zero.
    pub fn sleep_s(self, seconds: Seconds) {
        if seconds > 0.0 {
            self.sleep(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
    }

    /// Sleeps for so many nanoseconds.
    pub fn sleep_ns(self, nanoseconds: Nanoseconds) {
        self.sleep(Duration::from_nanos(nanoseconds));
    }

    /// Sleeps until `deadline`, with `offer` to offer the CPU to other threads.
    fn wait(self, deadline: Instant, offer: impl Fn()) {
        let accuracy = Duration::from_nanos(self.native_accuracy_ns.into());
        if has_clock() {
            own(|waiter| waiter.sleep_until(deadline));
            return;
        }
        let left = own(|waiter| waiter.coarse_until(deadline));
        if left > accuracy {
            native_sleep(left - accuracy);
        }
        while Instant::now() < deadline {
            match self.spin_strategy {
                SpinStrategy::YieldThread => offer(),
                SpinStrategy::SpinLoopHint => std::hint::spin_loop(),
            }
        }
    }
}

/// Sleeps for `duration` with the default [`SpinSleeper`].
pub fn sleep(duration: Duration) {
    SpinSleeper::default().sleep(duration);
}

/// Sleeps until `deadline` with the default [`SpinSleeper`].
pub fn sleep_until(deadline: Instant) {
    SpinSleeper::default().sleep_until(deadline);
}

/// One sleep of the OS, however late: [`std::thread::sleep`].
///
/// # Platform notes
/// Before Windows 10 1803 spin_sleep raises the timer resolution for this call, which this
/// does not.
pub fn native_sleep(duration: Duration) {
    match thread_clock() {
        Some(clock) => clock.sleep(duration),
        None => std::thread::sleep(duration),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often 100 sleeps of `us` microseconds each offer the CPU.
    fn offers(sleeper: SpinSleeper, us: u64) -> u64 {
        let offers = Cell::new(0);
        for _ in 0..100 {
            let deadline = Instant::now() + Duration::from_micros(us);
            sleeper.wait(deadline, || offers.set(offers.get() + 1));
            assert!(Instant::now() >= deadline);
        }
        offers.get()
    }

    #[test]
    fn only_one_strategy_offers_the_cpu_while_it_spins() {
        let sleeper = SpinSleeper::default();
        let yields = sleeper.with_spin_strategy(SpinStrategy::YieldThread);
        assert!(offers(yields, 20) > 0);
        let spins = sleeper.with_spin_strategy(SpinStrategy::SpinLoopHint);
        assert_eq!(offers(spins, 20), 0);
    }

    /// Windows may end a sleep of the OS early.
    #[cfg(not(windows))]
    #[test]
    fn no_more_is_spun_than_the_accuracy() {
        let never = SpinSleeper::new(0).with_spin_strategy(SpinStrategy::YieldThread);
        assert_eq!(offers(never, 20) + offers(never, 500), 0);
    }
}
