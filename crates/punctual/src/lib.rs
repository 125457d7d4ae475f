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
//! The OS wakes a sleeping thread late: by 50 us and more on Linux, a millisecond on macOS,
//! up to 15.6 ms on Windows. Thus a punctual wait sleeps most of the time and spins the rest;
//! its [`Strategy`] decides where one ends and the other begins. The default learns how late
//! this OS wakes this thread and what a nap costs, and minimises CPU time and lateness
//! together. A [`Waiter`] is one strategy with what it has learned.
//!
//! A [`Cancel`] ends a wait early, and a [`Budget`] is a hard limit on spinning.
//!
//! A [`guard`] on the timer interval, the timer slack or the priority makes the waits of
//! other code in the program more accurate, too.
//!
//! # Guarantees
//!
//! - **Never early.** No wait ends before its deadline on the caller's clock,
//!   `std::time::Instant`, whatever the OS's timers do.
//! - A wait for an instant that has passed returns at once; one for decades waits that
//!   long. A signal does not cut a wait short.
//! - Waiting does not fail and does not panic. On Linux [`sleep`] and
//!   [`sleep_until`] may be called in a signal handler, in a destructor of a
//!   thread, and after `fork`.
//! - `pthread_cancel` ends no wait: on Linux no wait is a cancellation point, so a cancelled
//!   thread waits to its deadline. A [`Cancel`] ends a wait early.
//! - In a library that was loaded with `dlopen`, such as a plug-in, a thread must have
//!   called [`sleep`] once before its signal handler waits. The C library allocates the
//!   thread-local storage of such a library at the first use, with `malloc`.
//!
//! # Features
//!
//! All are off by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `serde` | [`Profile`] and [`Statistics`] can be kept in a file |
//! | `hdrhistogram`, `prometheus` | export of [`Statistics`]; the first needs Rust 1.88 |
//! | `embedded-hal` | a [`Waiter`] is a `DelayNs` of embedded-hal 1 |
//! | `spin_sleep` | all names of the crate spin_sleep 1.3.3, in a module of that name |
//!
//! # Suspend
//!
//! Deadlines follow [`Instant`], whose clock stops on Linux and macOS while the machine is
//! suspended, and runs on Windows.

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
// docs.rs shows which feature a name needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod budget;
mod builder;
mod cancel;
mod clock;
#[cfg(feature = "embedded-hal")]
mod delay;
mod driver;
mod error;
mod frame;
pub mod guard;
pub mod ns;
mod outcome;
mod own;
mod pacer;
mod period;
mod profile;
mod slack;
mod slots;
#[cfg(feature = "spin_sleep")]
pub mod spin_sleep;
mod statistics;
mod strategy;
mod target;
mod ticker;
mod waiter;

pub use budget::Budget;
pub use builder::WaiterBuilder;
pub use cancel::Cancel;
pub use clock::Clock;
pub use error::Error;
pub use frame::{Frame, FrameEnd, FramePacer};
pub use outcome::{Cancelled, Interrupted, Outcome};
#[doc(hidden)]
pub use own::thread_clock;
pub use own::with_clock;
pub use pacer::{Batch, Pacer};
pub use period::Period;
pub use profile::Profile;
pub use slack::Slack;
pub use slots::{MissedTickBehavior, SlotCounts};
pub use statistics::Statistics;
pub use strategy::Strategy;
pub use target::{LimitedBy, Target, TargetStatus, Tradeoff};
pub use ticker::{Tick, Ticker, interval, interval_at};
pub use waiter::Waiter;
#[doc(hidden)]
pub use waiter::clock_stands;

use std::time::{Duration, Instant};

/// Waits for `duration` with this thread's own [`Waiter`].
///
/// Never early; see [the guarantees](crate#guarantees).
///
/// # Accuracy
///
/// That of the [default strategy](Strategy::default), which learns how late the OS wakes
/// this thread; its first eight waits spin more than later ones. Then most waits end within
/// a microsecond on an idle machine; the others are late because being on time would have
/// cost more CPU time than the lateness is worth. A stall of the machine, or other threads
/// on all CPUs, can make any wait late by milliseconds.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let outcome = punctual::sleep(Duration::from_micros(500));
/// assert!(outcome.slept() + outcome.spun() >= Duration::from_micros(500));
/// ```
#[inline]
pub fn sleep(duration: Duration) -> Outcome {
    if own::has_clock() {
        return own::own(|waiter| waiter.sleep(duration));
    }
    let now = Instant::now();
    let deadline = waiter::after(now, duration);
    own::own(|waiter| waiter.wait_out(now, deadline))
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
    if own::has_clock() {
        return own::own(|waiter| waiter.sleep_until(deadline));
    }
    let now = Instant::now();
    if now >= deadline {
        return Outcome::of_past_deadline(now - deadline);
    }
    own::own(|waiter| waiter.wait_out(now, deadline))
}

/// Types that move between threads, and out of a panic that was caught, on every system.
const _: () = {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    const fn anywhere<T: Send + Sync + UnwindSafe + RefUnwindSafe + 'static>() {}
    anywhere::<Batch>();
    anywhere::<Cancel>();
    anywhere::<Cancelled>();
    anywhere::<Error>();
    anywhere::<FramePacer>();
    anywhere::<Interrupted>();
    anywhere::<Pacer>();
    anywhere::<Statistics>();
    anywhere::<TargetStatus>();
    anywhere::<Tick>();
    anywhere::<Ticker>();
    anywhere::<Waiter>();
    anywhere::<WaiterBuilder>();
};

/// Compiles and runs the examples of the README and of `docs/waiting.md`, which `docs/` here links to.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/waiting.md")]
struct Documentation;
