//! The waiter of each thread, and the clock that it may have.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use crate::clock::Clock;
use crate::waiter::Waiter;

/// Dropped with its thread only where it holds something, because a signal handler may not
/// register a destructor.
#[cfg(any(windows, target_vendor = "apple"))]
type Own = Waiter;
#[cfg(not(any(windows, target_vendor = "apple")))]
type Own = std::mem::ManuallyDrop<Waiter>;

thread_local! {
    static WAITER: RefCell<Own> = const {
        #[cfg(any(windows, target_vendor = "apple"))]
        let own = Waiter::new();
        #[cfg(not(any(windows, target_vendor = "apple")))]
        let own = std::mem::ManuallyDrop::new(Waiter::new());
        RefCell::new(own)
    };
}

/// Whether a thread has had a clock of its own: other programs never look for one.
static HAS_CLOCKS: AtomicBool = AtomicBool::new(false);

/// Runs `wait` with the thread's own waiter.
#[inline]
pub(crate) fn own<T>(wait: impl Fn(&mut Waiter) -> T) -> T {
    let waited = WAITER.try_with(|waiter| {
        let mut waiter = waiter.try_borrow_mut().ok()?;
        Some(wait(&mut waiter))
    });
    match waited {
        Ok(Some(waited)) => waited,
        // The thread is ending and has given its waiter up; or this is a signal
        // handler that has interrupted a wait.
        _ => wait(&mut Waiter::new()),
    }
}

/// The clock that [`with_clock`] gave the calling thread.
#[doc(hidden)]
#[inline]
pub fn thread_clock() -> Option<Arc<dyn Clock>> {
    match has_clocks() {
        true => own(|waiter| waiter.clock.clone()),
        false => None,
    }
}

/// Whether any thread has had a clock of its own.
#[inline]
pub(crate) fn has_clocks() -> bool {
    HAS_CLOCKS.load(Relaxed)
}

/// Whether the calling thread has a clock of its own.
#[inline]
pub(crate) fn has_clock() -> bool {
    has_clocks() && own(|waiter| waiter.clock.is_some())
}

/// The time on the clock of the calling thread.
#[inline]
pub(crate) fn now() -> Instant {
    thread_clock().map_or_else(Instant::now, |clock| clock.now())
}

/// Runs `work`, during which the calling thread waits on `clock`: [`sleep`](crate::sleep),
/// [`sleep_until`](crate::sleep_until), and the async sleeps of punctual-timers that it polls.
///
/// A [`Waiter`] that was built without a [clock](crate::WaiterBuilder::clock) waits on that of its
/// thread, too, and so do the [`Ticker`](crate::Ticker), [`Pacer`](crate::Pacer) and
/// [`FramePacer`](crate::FramePacer) that have one. It forgets what it learned on another clock.
/// `Instant::now` continues to read the system's clock.
///
/// For tests of code that cannot be given a waiter.
///
/// # Examples
///
/// ```
/// use std::sync::Mutex;
/// use std::time::{Duration, Instant};
/// use punctual::{Clock, with_clock};
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
/// let clock = Manual(Mutex::new(Instant::now()));
/// let year = Duration::from_secs(365 * 86_400);
/// let outcome = with_clock(clock, || punctual::sleep(year));
/// assert_eq!(outcome.lateness(), Duration::ZERO);
/// ```
pub fn with_clock<T>(clock: impl Clock + 'static, work: impl FnOnce() -> T) -> T {
    let waiter = Waiter::builder().clock(clock).build().unwrap_or_default();
    HAS_CLOCKS.store(true, Relaxed);
    let mut before = Before(waiter);
    before.exchange();
    work()
}

/// The waiter that the thread gets back, also after a panic.
struct Before(Waiter);

impl Before {
    fn exchange(&mut self) {
        let _ = WAITER.try_with(|own| {
            if let Ok(mut own) = own.try_borrow_mut() {
                let own: &mut Waiter = &mut own;
                std::mem::swap(own, &mut self.0);
            }
        });
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        self.exchange();
    }
}
