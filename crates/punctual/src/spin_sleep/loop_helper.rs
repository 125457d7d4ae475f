use std::time::{Duration, Instant};

use super::{RatePerSecond, Seconds, SpinSleeper, SubsecondNanoseconds, native_sleep, now};
use crate::waiter::after;

/// Limits the rate of a loop, and reports it.
///
/// Each loop is timed from its own start, so lateness adds up: a
/// [`Ticker`](crate::Ticker) keeps its rate exactly.
///
/// # Examples
///
/// ```
/// use punctual::spin_sleep::{LoopHelper, RatePerSecond};
///
/// let mut helper = LoopHelper::builder()
///     .report_interval_s(0.01)
///     .build_with_target_rate(500.0);
/// for _ in 0..20 {
///     let since_last = helper.loop_start();
///     // work that takes `since_last` into account
///     # let _ = since_last;
///     if let Some(rate) = helper.report_rate() {
///         let rate: RatePerSecond = rate;
///         println!("{rate:.1} loops a second");
///     }
///     helper.loop_sleep();
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopHelper {
    /// The least time from the start of one loop to that of the next.
    target: Duration,
    report_interval: Duration,
    sleeper: SpinSleeper,
    started: Instant,
    reported: Instant,
    /// Loops since the last report, and the time that they took.
    loops: u32,
    took: Duration,
}

/// Builds a [`LoopHelper`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::spin_sleep::LoopHelper;
///
/// let mut helper = LoopHelper::builder()
///     .report_interval(Duration::from_millis(10))
///     .native_accuracy_ns(100_000)
///     .build_with_target_rate(1_000.0);
/// helper.loop_start();
/// helper.loop_sleep();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopHelperBuilder {
    report_interval: Duration,
    sleeper: SpinSleeper,
}

impl LoopHelperBuilder {
    /// Sets the least time between two reports, in seconds; by default 1.
    ///
    /// # Panics
    /// If `seconds` is negative, not a number, or more than a [`Duration`] can hold.
    #[must_use]
    pub fn report_interval_s(self, seconds: Seconds) -> Self {
        self.report_interval(Duration::from_secs_f64(seconds))
    }

    /// Sets the least time between two reports; by default a second.
    #[must_use]
    pub fn report_interval(mut self, duration: Duration) -> Self {
        self.report_interval = duration;
        self
    }

    /// Sets the native accuracy of its [`SpinSleeper`], in nanoseconds.
    #[must_use]
    pub fn native_accuracy_ns(mut self, accuracy: SubsecondNanoseconds) -> Self {
        self.sleeper = SpinSleeper::new(accuracy);
        self
    }

    /// Builds a helper that only reports: its sleeps return at once.
    pub fn build_without_target_rate(self) -> LoopHelper {
        self.build_with_target_rate(f64::INFINITY)
    }

    /// Builds a helper that limits a loop to `target_rate` per second.
    ///
    /// # Panics
    /// If the rate is negative, not a number, or so near to zero that a [`Duration`] cannot
    /// hold the time for one loop.
    pub fn build_with_target_rate<R: Into<RatePerSecond>>(self, target_rate: R) -> LoopHelper {
        let now = now();
        LoopHelper {
            target: length(target_rate.into()),
            report_interval: self.report_interval,
            sleeper: self.sleeper,
            started: now,
            reported: now,
            loops: 0,
            took: Duration::ZERO,
        }
    }
}

impl LoopHelper {
    /// A builder with a report each second and the default [`SpinSleeper`].
    pub fn builder() -> LoopHelperBuilder {
        LoopHelperBuilder {
            report_interval: Duration::from_secs(1),
            sleeper: SpinSleeper::default(),
        }
    }

    /// Begins a loop. Returns the time since the one before began.
    pub fn loop_start(&mut self) -> Duration {
        let now = now();
        let took = now.saturating_duration_since(self.started);
        self.started = now;
        self.took = self.took.saturating_add(took);
        self.loops = self.loops.saturating_add(1);
        took
    }

    /// As [`loop_start`](Self::loop_start), in seconds.
    pub fn loop_start_s(&mut self) -> Seconds {
        self.loop_start().as_secs_f64()
    }

    /// Sleeps until the time for this loop is over; returns at once if it is.
    pub fn loop_sleep(&mut self) {
        self.sleeper.sleep_until(self.end());
    }

    /// As [`loop_sleep`](Self::loop_sleep) without spinning: later, for less CPU time.
    pub fn loop_sleep_no_spin(&mut self) {
        let left = self.end().saturating_duration_since(now());
        if !left.is_zero() {
            native_sleep(left);
        }
    }

    /// Returns the mean number of loops per second since the last report; `None` unless more
    /// than the report interval has passed since then, and a loop has begun.
    pub fn report_rate(&mut self) -> Option<RatePerSecond> {
        let now = now();
        let since = now.saturating_duration_since(self.reported);
        if since <= self.report_interval || self.loops == 0 {
            return None;
        }
        self.reported = now;
        let (loops, took) = (
            std::mem::take(&mut self.loops),
            std::mem::take(&mut self.took),
        );
        Some(f64::from(loops) / took.as_secs_f64())
    }

    /// Changes the target rate.
    ///
    /// # Panics
    /// As [`build_with_target_rate`](LoopHelperBuilder::build_with_target_rate).
    pub fn set_target_rate<R: Into<RatePerSecond>>(&mut self, target_rate: R) {
        self.target = length(target_rate.into());
    }

    /// Returns the target rate; infinite without one.
    pub fn target_rate(&self) -> RatePerSecond {
        1.0 / self.target.as_secs_f64()
    }

    fn end(&self) -> Instant {
        after(self.started, self.target)
    }
}

/// The time for one loop.
fn length(rate: RatePerSecond) -> Duration {
    Duration::from_secs_f64(1.0 / rate)
}
