use std::ops::{Add, Sub};
use std::time::{Duration, Instant};

/// An instant, as nanoseconds since an epoch that the owner of the queue chooses: 584 years of
/// them. Arithmetic saturates.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_timers::Time;
///
/// let time = Time::from_ns(500) + Duration::from_micros(1);
/// assert_eq!(time.as_ns(), 1_500);
/// assert_eq!(time - Time::from_ns(2_000), Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// As good as never.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant this many nanoseconds after the epoch.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds after the epoch.
    pub const fn as_ns(self) -> u64 {
        self.0
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(ns(length)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(ns(length)))
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The instant of `std`'s clock from which times are counted.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual_timers::Epoch;
///
/// let epoch = Epoch::now();
/// let deadline = Instant::now() + Duration::from_millis(2);
/// assert_eq!(epoch.instant(epoch.time(deadline)), deadline);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(Instant);

impl Epoch {
    /// Counts from now on.
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// The time at `instant`; at the epoch for what was before.
    pub fn time(self, instant: Instant) -> Time {
        Time(ns(instant.saturating_duration_since(self.0)))
    }

    /// The instant at `time`; for times that the clock cannot show, one in a
    /// hundred years.
    pub fn instant(self, time: Time) -> Instant {
        const AGES: Duration = Duration::from_secs(100 * 365 * 86_400);
        let after = Duration::from_nanos(time.0);
        self.0
            .checked_add(after.min(AGES))
            .unwrap_or_else(Instant::now)
    }
}

pub(crate) fn ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// The time on the clock that durations are counted on. That is tokio's in a runtime whose clock
/// was paused, the thread's if it has one, else the standard library's.
pub(crate) fn now() -> Instant {
    #[cfg(feature = "tokio")]
    if let Some(now) = tokio() {
        return now;
    }
    punctual::thread_clock().map_or_else(Instant::now, |clock| clock.now())
}

/// [`now`], for a ticker whose sleeps others do.
#[derive(Debug)]
pub(crate) struct TaskClock;

impl punctual::Clock for TaskClock {
    fn now(&self) -> Instant {
        now()
    }

    fn sleep(&self, length: Duration) {
        std::thread::sleep(length);
    }
}

/// The time of tokio's clock, if that is not the standard library's. Tokio cannot be asked which
/// it is (tokio#7700); but a reading of the same clock would lie between two of tokio's.
#[cfg(feature = "tokio")]
pub(crate) fn tokio() -> Option<Instant> {
    /// A clock that moves has moved within so many readings.
    const MANY: u32 = 1 << 13;
    for read in 1_u32.. {
        let before = tokio::time::Instant::now().into_std();
        let now = Instant::now();
        let after = tokio::time::Instant::now().into_std();
        if !(before..=after).contains(&now) {
            return Some(after);
        }
        // Paused just now, or the clock has not moved: the next tick tells.
        if before < after {
            return None;
        }
        if read % MANY == 0 && punctual::clock_stands() {
            return None;
        }
    }
    None
}
