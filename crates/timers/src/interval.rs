use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_core::Stream;
use punctual::{MissedTickBehavior, Period, SlotCounts, Tick, Ticker, Waiter};

use crate::instant::{self, TaskClock};
use crate::sleep::{Sleep, sleep_until};

/// An [`Interval`] whose first tick is due now.
///
/// # Examples
///
/// ```
/// use punctual::{MissedTickBehavior, Period};
///
/// # async fn task() -> Result<(), punctual::Error> {
/// let mut interval = punctual_timers::time::interval(Period::hz(1_000)?)
///     .with_missed_tick_behavior(MissedTickBehavior::Burst);
/// for _ in 0..3 {
///     let tick = interval.tick().await;
///     println!("{}: {:?} late, {} missed", tick.number(), tick.lateness(), tick.missed());
/// }
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task()).unwrap();
/// ```
pub fn interval(period: Period) -> Interval {
    interval_at(instant::now(), period)
}

/// An [`Interval`] whose first tick is due at `start`.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual::Period;
/// use punctual_timers::time::interval_at;
///
/// # async fn task() {
/// let start = Instant::now() + Duration::from_millis(1);
/// let tick = interval_at(start, Period::const_hz::<1_000>()).tick().await;
/// assert_eq!(tick.scheduled(), start);
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
pub fn interval_at(start: Instant, period: Period) -> Interval {
    // It only tells the ticker the time.
    let waiter = Waiter::builder().clock(TaskClock).build();
    Interval {
        ticker: punctual::interval_at(start, period).waiter(waiter.unwrap_or_default()),
        sleep: sleep_until(start),
    }
}

/// Ticks at an exact rate under any async runtime: a [`Ticker`] that sleeps as
/// [`Sleep`] does, and a stream that never ends.
///
/// Ticks are in phase for ever, whatever each is late by. Slots that have passed when a
/// tick comes are missed, unless
/// [`with_missed_tick_behavior`](Self::with_missed_tick_behavior) says otherwise; the counts
/// balance. It ticks on the same clock as a [`Sleep`]. A change takes effect at once, also for
/// a task that waits for a tick.
///
/// # Accuracy
///
/// That of [`Sleep`].
///
/// # Examples
///
/// ```
/// use punctual::{MissedTickBehavior, Period};
/// use punctual_timers::time;
///
/// # async fn task() {
/// let mut interval = time::interval(Period::const_hz::<1_000>());
/// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Skip);
/// interval.tick().await;
/// assert_eq!(interval.counts().ticks, 1);
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
/// ```
#[derive(Debug)]
pub struct Interval {
    ticker: Ticker,
    sleep: Sleep,
}

impl Interval {
    /// Sets how a late tick treats missed slots; the default is
    /// [`Skip`](MissedTickBehavior::Skip).
    #[must_use]
    pub fn with_missed_tick_behavior(mut self, behavior: MissedTickBehavior) -> Self {
        self.set_missed_tick_behavior(behavior);
        self
    }

    /// Returns how a late tick treats missed slots.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.ticker.missed_tick_behavior()
    }

    /// Changes how late ticks treat missed slots, from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{MissedTickBehavior, Period};
    /// use punctual_timers::time::interval;
    ///
    /// let mut interval = interval(Period::const_hz::<1_000>());
    /// interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
    /// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.ticker.set_missed_tick_behavior(behavior);
    }

    /// Spins at most `most` for a tick; see [`Sleep::spin_at_most`].
    #[must_use]
    pub fn spin_at_most(mut self, most: Duration) -> Self {
        self.sleep = self.sleep.spin_at_most(most);
        self
    }

    /// Sleeps until the next slot; if it has passed, lets other tasks run at most, as
    /// [`Sleep`] does.
    ///
    /// A tick that is dropped before it is ready is still to come.
    pub async fn tick(&mut self) -> Tick {
        poll_fn(|context| self.poll_tick(context)).await
    }

    /// As [`tick`](Self::tick), for futures that are written by hand.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use punctual::Period;
    /// use punctual_timers::time::interval;
    ///
    /// # async fn task() {
    /// let mut interval = interval(Period::const_hz::<1_000>());
    /// let tick = poll_fn(|context| interval.poll_tick(context)).await;
    /// assert_eq!(tick.number(), 0);
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task());
    /// ```
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Tick> {
        let late = ready!(Pin::new(&mut self.sleep).poll(context));
        let tick = self.ticker.serve(self.ticker.next_at() + late);
        self.sleep.reset(self.ticker.next_at());
        Poll::Ready(tick)
    }

    /// When the next slot is due.
    pub fn next_at(&self) -> Instant {
        self.ticker.next_at()
    }

    /// Returns the period.
    pub fn period(&self) -> Period {
        self.ticker.period()
    }

    /// Changes the period, in phase, as [`Ticker::set_period`] does.
    pub fn set_period(&mut self, period: Period) {
        self.ticker.set_period(period);
        self.follow();
    }

    /// Moves all slots to come by so many nanoseconds, as [`Ticker::nudge`] does.
    pub fn nudge(&mut self, by_ns: i64) {
        self.ticker.nudge(by_ns);
        self.follow();
    }

    /// Begins anew with a slot one period from now, as [`Ticker::reset`] does.
    pub fn reset(&mut self) {
        self.ticker.reset();
        self.follow();
    }

    /// Begins anew with a slot at `at`, as [`Ticker::reset_at`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::Period;
    /// use punctual_timers::time::interval;
    ///
    /// let mut interval = interval(Period::const_hz::<1_000>());
    /// let start = Instant::now() + Duration::from_millis(2);
    /// interval.reset_at(start);
    /// assert_eq!(interval.next_at(), start);
    /// assert_eq!(interval.period(), Period::const_hz::<1_000>());
    /// ```
    pub fn reset_at(&mut self, at: Instant) {
        self.ticker.reset_at(at);
        self.follow();
    }

    /// Returns the counts of all slots until the last tick or change.
    pub fn counts(&self) -> SlotCounts {
        self.ticker.counts()
    }

    /// Sleeps until the next slot, which has moved.
    fn follow(&mut self) {
        let next = self.ticker.next_at();
        if next != self.sleep.deadline() {
            self.sleep.reset(next);
        }
    }
}

/// Never ends.
impl Stream for Interval {
    type Item = Tick;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Tick>> {
        self.poll_tick(context).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}
