use std::fmt;
use std::task::Waker;
use std::time::{Duration, Instant};

use punctual_core::{Nanos, Tick};
use punctual_sys::clock::{self, Host};

use crate::Cancel;

/// A clock that a [`Waiter`](crate::Waiter) waits on instead of the system's, which it is
/// given by [`WaiterBuilder::clock`](crate::WaiterBuilder::clock): for tests, in which time is made.
///
/// Its instants are those of `std`, so waiting code needs no type parameter and can be tested as
/// it is. It takes a waiter, or a [`Ticker`](crate::Ticker), and asks
/// [`Waiter::now`](crate::Waiter::now) for the time. `Instant::now` and `Instant::elapsed` still
/// read the system's clock.
///
/// Code that cannot be given a waiter runs [with the clock](crate::with_clock).
///
/// The crate `punctual-virtual` has one that sleeps as Windows, macOS and Linux do.
///
/// # Examples
///
/// Time that passes only where something waits for it, and exactly:
///
/// ```
/// use std::sync::Mutex;
/// use std::time::{Duration, Instant};
/// use punctual::{Clock, Period, Waiter, interval_at};
///
/// #[derive(Debug)]
/// struct Manual(Mutex<Instant>);
///
/// impl Clock for Manual {
///     fn now(&self) -> Instant {
///         *self.0.lock().unwrap()
///     }
///     fn sleep(&self, length: Duration) {
///         *self.0.lock().unwrap() += length;
///     }
/// }
///
/// let waiter = Waiter::builder().clock(Manual(Mutex::new(Instant::now()))).build()?;
/// let start = waiter.now();
/// let mut ticker = interval_at(start, Period::hz_ratio(60_000, 1_001)?).waiter(waiter);
/// let last = ticker.nth(60_000).unwrap();
/// assert_eq!(last.actual() - start, Duration::from_secs(1_001));
/// # Ok::<(), punctual::Error>(())
/// ```
pub trait Clock: fmt::Debug + Send + Sync {
    /// The current time. Never goes backwards.
    fn now(&self) -> Instant;

    /// Sleeps for `length` as the system does; may end late. One that ends early is
    /// followed by another.
    fn sleep(&self, length: Duration);

    /// Sleeps until `deadline`, never less.
    fn sleep_until(&self, deadline: Instant) {
        loop {
            let left = deadline.saturating_duration_since(self.now());
            if left.is_zero() {
                return;
            }
            self.sleep(left);
        }
    }

    /// Sleeps for `length` as the system does, or until `cancel` is cancelled; one that
    /// does not know how ends in its time.
    fn nap(&self, length: Duration, cancel: Option<&Cancel>) {
        let _ = cancel;
        self.sleep(length);
    }

    /// Sleeps until about `instant` with the most exact call that there is, or until
    /// `cancel` is cancelled.
    fn nap_until(&self, instant: Instant, cancel: Option<&Cancel>) {
        self.nap(instant.saturating_duration_since(self.now()), cancel);
    }

    /// Waits until the clock shows `instant` or later, or `cancel` is cancelled, without a
    /// sleep that would end late; the last reading. One that knows only sleeps takes them.
    fn spin_until(&self, instant: Instant, cancel: Option<&Cancel>) -> Instant {
        loop {
            let now = self.now();
            if now >= instant || cancel.is_some_and(Cancel::is_cancelled) {
                return now;
            }
            self.nap(instant - now, cancel);
        }
    }

    /// Offers the CPU to other threads once, which takes some time: a microsecond of sleep if
    /// nothing else is said.
    fn yield_now(&self) {
        self.sleep(Duration::from_micros(1));
    }

    /// Has `waker` woken once the clock shows `deadline`, for async sleeps that are polled on a
    /// thread [with this clock](crate::with_clock).
    ///
    /// A clock that knows no tasks sleeps until then first: the other tasks of the thread wait
    /// meanwhile.
    fn wake_at(&self, deadline: Instant, waker: &Waker) {
        self.sleep_until(deadline);
        waker.wake_by_ref();
    }

    /// The CPU time that the calling thread has used, if that is known.
    fn cpu_time(&self) -> Option<Duration> {
        None
    }

    /// The name by which strategies know the call of [`nap_until`](Self::nap_until), as `punctual
    /// simulate --list` has them.
    #[doc(hidden)]
    fn timer(&self) -> &'static str {
        "timer"
    }
}

/// One instant on the caller's clock and on another, which runs alike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor<C> {
    pub(crate) instant: Instant,
    pub(crate) tick: Tick<C>,
}

impl<C: punctual_core::Clock> Anchor<C> {
    #[inline]
    pub(crate) fn tick(self, instant: Instant) -> Tick<C> {
        // A wait's begin lies a little before the anchor it makes.
        match instant.checked_duration_since(self.instant) {
            Some(after) => self.tick + Nanos::from(after),
            None => self.tick - Nanos::from(self.instant - instant),
        }
    }

    /// Where the caller's clock ends, the anchor.
    #[inline]
    pub(crate) fn instant(self, tick: Tick<C>) -> Instant {
        let (after, before) = (tick.since(self.tick), self.tick.since(tick));
        let instant = self.instant.checked_add(after.into());
        let instant = instant.and_then(|at| at.checked_sub(Duration::from(before)));
        instant.unwrap_or(self.instant)
    }
}

/// Readings of the two clocks further apart than this are repeated, twice at most: the
/// time between them is an error of each deadline.
const APART: Duration = Duration::from_nanos(500);

impl Anchor<Host> {
    #[cold]
    pub(crate) fn now() -> Self {
        let mut best = (Duration::MAX, Instant::now(), clock::now());
        for _ in 0..3 {
            let (instant, tick) = (Instant::now(), clock::now());
            let apart = instant.elapsed();
            if apart < best.0 {
                best = (apart, instant, tick);
            }
            if apart < APART {
                break;
            }
        }
        let (_, instant, tick) = best;
        Self { instant, tick }
    }
}
