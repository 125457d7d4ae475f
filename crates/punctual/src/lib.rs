//! Accurate, cheap waiting.
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! let outcome = punctual::sleep(Duration::from_millis(2));
//! println!("{:?} late, {:?} spun", outcome.lateness(), outcome.spun());
//!
//! // A loop without drift: deadlines are absolute.
//! let mut next = Instant::now();
//! for _ in 0..3 {
//!     next += Duration::from_millis(5);
//!     punctual::sleep_until(next);
//! }
//! ```
//!
//! The OS wakes a sleeping thread late: 50 us and more on Linux, a millisecond
//! on macOS, up to 15.6 ms on Windows. So a punctual wait sleeps for most of
//! the time and spins for the rest, and how it divides the two is its
//! [`Strategy`]. The default learns how late this OS wakes this thread, and what
//! a nap costs, and makes CPU time and lateness together cost least. A
//! [`Waiter`] keeps one strategy with what it learned.
//!
//! What other code of the program waits with can be made more accurate too, by
//! a [`guard`] on the timer interval, the timer slack or the priority.
//!
//! # Guarantees
//!
//! - **Never early.** No wait ends before its deadline on the caller's clock,
//!   `std::time::Instant`, whatever the OS's timers do.
//! - A wait for an instant that has passed returns at once; an enormous one
//!   waits that long. A signal does not cut a wait short.
//! - Waiting does not fail and does not panic.
//!
//! # Suspend
//!
//! Deadlines follow [`Instant`]. While the machine is
//! suspended its clock stands still on Linux and macOS, and goes on on
//! Windows.

pub mod guard;
mod outcome;
mod strategy;
mod waiter;

pub use outcome::Outcome;
pub use punctual_core::Method;
pub use punctual_sys::Error;
pub use strategy::Strategy;
pub use waiter::{Builder, Waiter};

use std::cell::RefCell;
use std::time::{Duration, Instant};

thread_local! {
    static WAITER: RefCell<Waiter> = RefCell::new(Waiter::new());
}

/// Waits for `duration` with this thread's own [`Waiter`].
///
/// Never early; see [the guarantees](crate#guarantees).
///
/// # Accuracy
///
/// As good as the [default strategy](Strategy::default), which learns how late
/// the OS wakes this thread: the first two dozen naps can be as late as that.
/// Afterwards most waits end within a microsecond on an idle machine, and the
/// rest later by what it would cost more CPU time to avoid. A stall of the
/// machine, or CPUs that are all busy, can make any wait late by
/// milliseconds.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let outcome = punctual::sleep(Duration::from_micros(500));
/// assert!(outcome.slept() + outcome.spun() >= Duration::from_micros(500));
/// ```
pub fn sleep(duration: Duration) -> Outcome {
    with_own_waiter(|waiter| waiter.sleep(duration))
}

/// Waits until `deadline` with this thread's own [`Waiter`].
///
/// Never early; see [the guarantees](crate#guarantees). A deadline that has
/// passed costs one reading of the clock.
///
/// # Accuracy
///
/// As [`sleep`].
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let deadline = Instant::now() + Duration::from_millis(1);
/// punctual::sleep_until(deadline);
/// assert!(Instant::now() >= deadline);
/// ```
#[inline]
pub fn sleep_until(deadline: Instant) -> Outcome {
    waiter::unless_past(deadline, |left| {
        with_own_waiter(|waiter| waiter.wait_out(left, deadline))
    })
}

fn with_own_waiter(mut wait: impl FnMut(&mut Waiter) -> Outcome) -> Outcome {
    WAITER
        .try_with(|waiter| wait(&mut waiter.borrow_mut()))
        // The thread is ending and has given its waiter up.
        .unwrap_or_else(|_| wait(&mut Waiter::new()))
}

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
