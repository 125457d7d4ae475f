use std::fmt;
use std::time::{Duration, Instant};

use punctual_core::Nanos;

use crate::cancel::Cancel;

/// The outcome of one wait.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// let outcome = punctual::sleep(Duration::from_millis(1));
/// println!(
///     "{:?} late, {} naps of {:?} in all, {:?} spun",
///     outcome.lateness(),
///     outcome.naps(),
///     outcome.slept(),
///     outcome.spun()
/// );
/// assert!(!outcome.hit_budget()); // it has none
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub(crate) late: Nanos,
    pub(crate) slept: Nanos,
    pub(crate) spun: Nanos,
    pub(crate) naps: u32,
    pub(crate) hit_budget: bool,
    /// Never shown: a wait that did not come to its end has no outcome.
    pub(crate) end: End,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum End {
    /// The deadline has passed.
    #[default]
    Deadline,
    /// The time left is so short that the caller's code spins it.
    Near,
    Cancelled,
    Interrupted,
    /// The strategy would spin, which the caller does in its place.
    Coarse,
}

impl Outcome {
    /// The outcome of a wait for a deadline that passed `late` ago.
    #[inline]
    pub(crate) fn of_past_deadline(late: Duration) -> Self {
        Self {
            late: late.into(),
            ..Self::default()
        }
    }

    /// The outcome of a wait of the core, which ended so.
    #[inline]
    pub(crate) fn of(waited: &punctual_core::Outcome, hit_budget: bool, end: End) -> Self {
        Self {
            late: waited.late.or_zero(),
            slept: waited.slept,
            spun: waited.spun,
            naps: waited.naps,
            hit_budget,
            end,
        }
    }

    /// The same wait after it was spun out, for so long beyond the deadline.
    #[inline]
    pub(crate) fn overrun(self, by: Nanos) -> Self {
        Self {
            late: self.late + by,
            spun: self.spun + by,
            end: End::Deadline,
            ..self
        }
    }

    /// The same wait for a caller, such as an interpreter, that learned of its end only `now`,
    /// after a further spin. For bindings.
    #[doc(hidden)]
    #[must_use]
    pub fn seen_at(self, deadline: Instant, now: Instant, spun: Duration) -> Self {
        Self {
            late: now.saturating_duration_since(deadline).into(),
            spun: self.spun + spun.into(),
            ..self
        }
    }

    /// The last piece of a wait that was made in pieces, with what those `before` it took. For
    /// bindings.
    #[doc(hidden)]
    #[must_use]
    pub fn after(self, before: Self) -> Self {
        Self {
            slept: self.slept + before.slept,
            spun: self.spun + before.spun,
            naps: self.naps + before.naps,
            hit_budget: self.hit_budget || before.hit_budget,
            ..self
        }
    }

    /// How long after its deadline the wait ended. Never less than zero,
    /// because no wait ends early.
    pub fn lateness(&self) -> Duration {
        self.late.into()
    }

    /// How many times the thread gave up its CPU to an OS call.
    pub fn naps(&self) -> u32 {
        self.naps
    }

    /// The time spent in those calls, from entry to return.
    pub fn slept(&self) -> Duration {
        self.slept.into()
    }

    /// The time spent spinning: CPU time, unless others took the CPU meanwhile.
    pub fn spun(&self) -> Duration {
        self.spun.into()
    }

    /// Whether the wait would have spun more if its [budget](crate::Budget) had
    /// let it.
    pub fn hit_budget(&self) -> bool {
        self.hit_budget
    }
}

/// A wait that ended before its deadline because it was cancelled.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Cancel, Cancelled, Waiter};
///
/// fn pause(waiter: &mut Waiter, stop: &Cancel) -> Result<(), Cancelled> {
///     waiter.sleep_or(Duration::from_secs(1), stop)?;
///     Ok(())
/// }
/// let stop = Cancel::new();
/// stop.cancel();
/// let cancelled = pause(&mut Waiter::new(), &stop).unwrap_err();
/// assert_eq!(cancelled.to_string(), "the wait was cancelled");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled(pub(crate) ());

impl Cancelled {
    /// An error if `cancel` is cancelled.
    #[inline]
    pub(crate) fn check(cancel: &Cancel) -> Result<(), Self> {
        match cancel.is_cancelled() {
            true => Err(Self(())),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the wait was cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// A wait that ended before its deadline because a signal was handled.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual::{Interrupted, Waiter};
///
/// let deadline = Instant::now() + Duration::from_millis(1);
/// match Waiter::new().sleep_until_interruptible(deadline) {
///     Ok(outcome) => println!("{:?} late", outcome.lateness()),
///     Err(Interrupted { .. }) => println!("a signal was handled"),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted(pub(crate) ());

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the wait was interrupted by a signal")
    }
}

impl std::error::Error for Interrupted {}
