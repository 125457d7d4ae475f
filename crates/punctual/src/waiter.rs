use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use punctual_core::strategies::{self, Adaptive, AnyStrategy};
use punctual_core::{Ended, Goal, Method, Nanos, Reason, drive};
use punctual_sys::clock::{self, Host, Tick};
use punctual_sys::crowd;
use punctual_sys::nap::{Nap, Slack};

use crate::cancel::Cancel;
use crate::clock::{Anchor, Clock};
use crate::driver::{CallingThread, Stops};
use crate::outcome::{Cancelled, End, Interrupted, Outcome};
use crate::own;
use crate::profile::Profile;
use crate::statistics::Statistics;
use crate::target::TargetStatus;

/// Waits with one strategy, and keeps what that has learned.
///
/// A waiter may move between threads but serves one at a time; give each thread its own. It is a
/// value of less than 2 KB and holds no descriptor. Its constructor is `const` and makes no system
/// call, so it can be a field or a static. On Windows its first nap creates a timer.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Strategy, Waiter};
///
/// let mut waiter = Waiter::builder()
///     .strategy(Strategy::fixed_margin(Duration::from_micros(200)))
///     .build()?;
/// let outcome = waiter.sleep(Duration::from_millis(3));
/// println!("{} naps, {:?} asleep, {:?} spinning", outcome.naps(), outcome.slept(), outcome.spun());
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Debug)]
pub struct Waiter {
    pub(crate) strategy: AnyStrategy,
    nap: Nap,
    pub(crate) slack: Slack,
    /// Replaces the system's clock.
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// Whether that is only as its thread has it.
    follows: bool,
    anchor: Option<Anchor<Host>>,
    /// How the last wait ended. The strategy is told when the next begins: after a nap its
    /// state is in no cache, and the caller is due.
    ended: Option<Ended<Host>>,
    /// How much longer than that it spun, as only the caller's clock told.
    overrun: Nanos,
    pub(crate) kept: Option<Box<Kept>>,
}

/// Statistics of all waits but the last, which is counted when the next begins.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    statistics: Statistics,
    last: Option<Outcome>,
}

impl Kept {
    fn settle(&mut self, overrun: Nanos) {
        if let Some(last) = self.last.take() {
            self.statistics.record(&last.overrun(overrun));
        }
    }
}

/// The name under which strategies know the call that [`Nap::until`] blocks with.
pub(crate) const TIMER: Method = if cfg!(windows) {
    Method::HighResolutionTimer
} else if cfg!(target_os = "macos") {
    Method::MachWaitUntil
} else {
    Method::SlacklessFutex
};

/// The same of a clock of the user's.
pub(crate) fn timer_of(clock: &dyn Clock) -> Method {
    clock.timer().parse().unwrap_or(Method::Timer)
}

/// After so many readings without progress, the clock stands still.
const MANY: u32 = 1 << 13;

impl Waiter {
    /// A waiter with the [default strategy](crate::Strategy::default).
    pub const fn new() -> Self {
        Self {
            strategy: AnyStrategy::Adaptive(Adaptive::new(
                10.0,
                TIMER,
                strategies::Budget::Unlimited,
            )),
            nap: Nap::new(),
            slack: Slack::PerNap,
            clock: None,
            follows: false,
            anchor: None,
            ended: None,
            overrun: Nanos::ZERO,
            kept: None,
        }
    }

    /// The time on the clock of its waits: `Instant::now`, or that of
    /// [`WaiterBuilder::clock`](crate::WaiterBuilder::clock) or [its thread](crate::with_clock).
    #[inline]
    pub fn now(&self) -> Instant {
        match &self.clock {
            None if !own::has_clocks() => Instant::now(),
            _ => self.shown(),
        }
    }

    /// The time where there are other clocks. Out of line, so that other waits do not pay for it.
    #[cold]
    #[inline(never)]
    fn shown(&self) -> Instant {
        match &self.clock {
            Some(clock) if !self.follows => clock.now(),
            _ => own::now(),
        }
    }

    /// Takes the clock of the calling thread, unless it was built with one. The strategy begins
    /// anew on another clock.
    #[cold]
    #[inline(never)]
    fn follow(&mut self) {
        if self.clock.is_some() && !self.follows {
            return;
        }
        let threads = own::thread_clock();
        let is_the_same = match (&self.clock, &threads) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        if is_the_same {
            return;
        }
        let timer = threads.as_ref().map_or(TIMER, |clock| timer_of(&**clock));
        if let AnyStrategy::Adaptive(adaptive) = &mut self.strategy {
            *adaptive = adaptive.anew(timer);
        }
        self.follows = threads.is_some();
        self.clock = threads;
        (self.anchor, self.ended) = (None, None);
    }

    /// Waits for `duration` from now. Never early.
    ///
    /// # Accuracy
    /// That of the [strategy](crate::Strategy). When all CPUs are busy, any OS call can end late
    /// by a time slice of the scheduler.
    #[inline]
    pub fn sleep(&mut self, duration: Duration) -> Outcome {
        let now = self.now();
        self.wait_out(now, after(now, duration))
    }

    /// Waits until `deadline`. Never early. If it has passed, this costs one reading of the
    /// clock.
    ///
    /// # Accuracy
    /// As [`sleep`](Self::sleep).
    #[inline]
    pub fn sleep_until(&mut self, deadline: Instant) -> Outcome {
        let near = self.approach(deadline, Stops::default());
        self.finish(near, deadline)
    }

    /// Waits for `duration` from now, or until `cancel` is cancelled, as
    /// [`sleep_until_or`](Self::sleep_until_or).
    ///
    /// # Errors
    /// [`Cancelled`], also if it was cancelled before the call.
    ///
    /// # Accuracy
    /// As [`sleep_until_or`](Self::sleep_until_or).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::{Cancel, Waiter};
    ///
    /// let (mut waiter, stop) = (Waiter::new(), Cancel::new());
    /// assert!(waiter.sleep_or(Duration::from_millis(1), &stop).is_ok());
    /// stop.cancel();
    /// assert!(waiter.sleep_or(Duration::from_secs(60), &stop).is_err());
    /// ```
    #[inline]
    pub fn sleep_or(&mut self, duration: Duration, cancel: &Cancel) -> Result<Outcome, Cancelled> {
        self.sleep_until_or(after(self.now(), duration), cancel)
    }

    /// Waits until `deadline`, or until `cancel` is cancelled: by another thread or, on Linux
    /// and Windows, by a signal handler. Costs as much as [`sleep_until`](Self::sleep_until)
    /// and one atomic load.
    ///
    /// # Errors
    /// [`Cancelled`], also if it was cancelled before the call and the deadline has passed,
    /// so that a loop that is always late can be stopped.
    ///
    /// # Accuracy
    /// A cancelled wait ends as soon as the system wakes the thread: within tens of
    /// microseconds on an idle machine.
    ///
    /// # Platform notes
    /// On macOS such a wait blocks on a condition variable, which is less exact than the
    /// call of other waits. Systems other than Linux, Windows and macOS use one for all
    /// waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::{Cancel, Cancelled, Waiter};
    ///
    /// let stop = Cancel::new();
    /// let control = std::thread::spawn({
    ///     let stop = stop.clone();
    ///     move || {
    ///         let mut waiter = Waiter::new();
    ///         let mut next = Instant::now();
    ///         while waiter.sleep_until_or(next, &stop).is_ok() {
    ///             next += Duration::from_secs(3);
    ///         }
    ///     }
    /// });
    /// stop.cancel();
    /// control.join().unwrap();
    /// ```
    #[inline]
    pub fn sleep_until_or(
        &mut self,
        deadline: Instant,
        cancel: &Cancel,
    ) -> Result<Outcome, Cancelled> {
        let near = self.approach_or(deadline, cancel)?;
        Ok(self.finish(near, deadline))
    }

    /// Waits until `deadline`, or until a signal was handled while the thread slept, so that
    /// the caller can react, as an interpreter does. Call it again to go on. Costs as much as
    /// [`sleep_until`](Self::sleep_until).
    ///
    /// # Errors
    /// [`Interrupted`], occasionally without a signal.
    ///
    /// # Accuracy
    /// A signal that arrives just before the thread goes to sleep, or while it spins, does
    /// not end the wait. Where that matters, on Linux let the handler cancel a [`Cancel`].
    ///
    /// # Platform notes
    /// Windows has no signals and handles Ctrl-C on a thread of its own; there the wait is
    /// interrupted once a second. Systems other than Linux, macOS and Windows block on a condition
    /// variable of the standard library, which continues after a signal. On FreeBSD no signal ends
    /// the wait.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::Waiter;
    ///
    /// let (mut waiter, deadline) = (Waiter::new(), Instant::now() + Duration::from_millis(2));
    /// while waiter.sleep_until_interruptible(deadline).is_err() {
    ///     // Do what the signal handler asked for.
    /// }
    /// ```
    #[inline]
    pub fn sleep_until_interruptible(&mut self, deadline: Instant) -> Result<Outcome, Interrupted> {
        let stops = Stops {
            by_signals: true,
            ..Stops::default()
        };
        let near = self.approach(deadline, stops);
        match near.end {
            End::Interrupted => Err(Interrupted(())),
            _ => Ok(self.finish(near, deadline)),
        }
    }

    /// Sleeps until shortly before `deadline` without spinning, and returns the time left,
    /// for the caller to spin or to work in; zero if the deadline has passed.
    ///
    /// It returns when the strategy would begin to spin: at once if the wait is too short to
    /// sleep. It returns late with a strategy that never spins, such as
    /// [`Strategy::system`](crate::Strategy::system) or
    /// [`Budget::NeverSpin`](crate::Budget::NeverSpin).
    ///
    /// # Accuracy
    /// The time left is the margin of the strategy less the overshoot of the nap: tens of
    /// microseconds on Linux.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::Waiter;
    ///
    /// let deadline = Instant::now() + Duration::from_millis(3);
    /// let left = Waiter::new().coarse_until(deadline);
    /// println!("{left:?} to poll for input in");
    /// while Instant::now() < deadline {}
    /// ```
    pub fn coarse_until(&mut self, deadline: Instant) -> Duration {
        let now = self.now();
        if now < deadline {
            let stops = Stops {
                coarse: true,
                ..Stops::default()
            };
            self.wait(now, deadline, stops);
        }
        deadline.saturating_duration_since(self.now())
    }

    /// Returns how well it meets its [target](crate::WaiterBuilder::target); `None` without one.
    pub fn target_status(&self) -> Option<TargetStatus> {
        match &self.strategy {
            AnyStrategy::Adaptive(adaptive) => adaptive.target_status().map(TargetStatus::of),
            _ => None,
        }
    }

    /// Keeps [`Statistics`] of all waits from now on. Allocates 2.2 KB, once.
    pub fn keep_statistics(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Statistics of the waits since [`keep_statistics`](Self::keep_statistics) or
    /// [`take_statistics`](Self::take_statistics); empty if they are not kept.
    pub fn statistics(&self) -> Statistics {
        let Some(kept) = &self.kept else {
            return Statistics::new();
        };
        let mut seen = kept.statistics.clone();
        let last = kept.last.map(|last| last.overrun(self.overrun));
        last.iter().for_each(|last| seen.record(last));
        seen
    }

    /// Returns the [`statistics`](Self::statistics) and starts new ones.
    pub fn take_statistics(&mut self) -> Statistics {
        let seen = self.statistics();
        if let Some(kept) = &mut self.kept {
            **kept = Kept::default();
        }
        seen
    }

    /// Counts slots that were missed.
    #[inline]
    pub(crate) fn missed(&mut self, slots: u64) {
        if let Some(kept) = &mut self.kept {
            kept.statistics.miss(slots);
        }
    }

    #[inline]
    pub(crate) fn past_deadline(&mut self, late: Duration) -> Outcome {
        let outcome = Outcome::of_past_deadline(late);
        if let Some(kept) = &mut self.kept {
            kept.statistics.record(&outcome);
        }
        outcome
    }

    /// Returns the knowledge of the strategy, to start another waiter with; `None` for strategies
    /// other than `adaptive`.
    pub fn profile(&self) -> Option<Profile> {
        match &self.strategy {
            AnyStrategy::Adaptive(adaptive) => Some(Profile(adaptive.profile())),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn wait_out(&mut self, now: Instant, deadline: Instant) -> Outcome {
        let near = self.wait(now, deadline, Stops::default());
        self.finish(near, deadline)
    }

    /// Waits until `deadline`, or until shortly before it if [`finish`](Self::finish) is to spin
    /// the rest. Work between the two calls makes no wait late.
    #[inline]
    pub(crate) fn approach(&mut self, deadline: Instant, stops: Stops<'_>) -> Outcome {
        let now = self.now();
        if now >= deadline {
            return self.past_deadline(now - deadline);
        }
        self.wait(now, deadline, stops)
    }

    /// As [`approach`](Self::approach), or until `cancel` is cancelled.
    #[inline]
    pub(crate) fn approach_or(
        &mut self,
        deadline: Instant,
        cancel: &Cancel,
    ) -> Result<Outcome, Cancelled> {
        Cancelled::check(cancel)?;
        let stops = Stops {
            cancel: Some(cancel),
            ..Stops::default()
        };
        let near = self.approach(deadline, stops);
        match near.end {
            End::Cancelled => Err(Cancelled(())),
            _ => Ok(near),
        }
    }

    /// Spins the last microseconds in the caller's own code. After a nap the caches are cold, and
    /// any first call or return makes the wait late.
    #[inline]
    pub(crate) fn finish(&mut self, near: Outcome, deadline: Instant) -> Outcome {
        if near.end != End::Near {
            return near;
        }
        let mut spins = 0_u32;
        loop {
            // Subtracted each time, so that this too is in the cache when it counts.
            if let Some(late) = passed(deadline, Instant::now()) {
                self.overrun = late.into();
                return near.overrun(self.overrun);
            }
            std::hint::spin_loop();
            spins = spins.wrapping_add(1);
            if spins % MANY == 0 && clock_stands() {
                return near.overrun(Nanos::ZERO);
            }
        }
    }

    /// Waits until the end, or shortly before it if that is spun.
    fn wait(&mut self, begin: Instant, deadline: Instant, stops: Stops<'_>) -> Outcome {
        if own::has_clocks() {
            self.follow();
        }
        let overrun = std::mem::take(&mut self.overrun);
        if let Some(kept) = &mut self.kept {
            kept.settle(overrun);
        }
        let anchor = match self.anchor {
            Some(anchor) => anchor,
            None => *self.anchor.insert(self.new_anchor(begin)),
        };
        if let Some(mut ended) = self.ended.take() {
            ended.wake.now = ended.wake.now + overrun;
            ended.wake.slept += overrun;
            ended.tell(&mut self.strategy);
        }
        let outcome = self.steps((begin, deadline), anchor, stops);
        match &mut self.kept {
            Some(kept) if matches!(outcome.end, End::Deadline | End::Near) => {
                kept.last = Some(outcome);
            }
            _ => {}
        }
        outcome
    }

    /// Takes the steps of the strategy. The outcome says if it was stopped before the deadline.
    fn steps(
        &mut self,
        (begin, deadline): (Instant, Instant),
        anchor: Anchor<Host>,
        stops: Stops<'_>,
    ) -> Outcome {
        let begun = anchor.tick(begin);
        let mut goal = Goal::until(anchor.tick(deadline));
        let clock = self.clock.as_deref();
        if clock.is_none() {
            goal.spin_most = crowd::spin_most(begun, goal.left(begun));
        }
        let is_host = clock.is_none();
        let mut thread = CallingThread::new(
            (&mut self.nap, self.slack),
            clock,
            anchor,
            (begun, deadline),
            stops,
            &mut self.ended,
        );
        let waited = drive(&mut self.strategy, goal, begun, &mut thread);
        if goal.spin_most < Nanos::MAX {
            let ended = thread.last_read();
            crowd::end_limited(ended, ended.since(goal.deadline));
        }
        let end = match thread.end() {
            // Nothing is learned on a clock that stands still.
            (End::Deadline, Some(last)) if last.reason == Reason::Standstill => {
                let rest = goal.deadline - last.asked;
                thread.forget();
                thread.outlast(rest)
            }
            // No strategy of the library ends early; if one did, the caller would spin the rest.
            (End::Deadline, None) if is_host => End::Near,
            (End::Coarse, _) => {
                thread.forget();
                End::Coarse
            }
            (end, _) => end,
        };
        Outcome::of(&waited, self.was_bound(), end)
    }

    #[cold]
    fn new_anchor(&self, begin: Instant) -> Anchor<Host> {
        match &self.clock {
            None => Anchor::now(),
            // The same in each run, for reproducible tests.
            Some(_) => Anchor {
                instant: begin,
                tick: Tick::from_ns(1 << 62),
            },
        }
    }

    fn was_bound(&self) -> bool {
        matches!(&self.strategy, AnyStrategy::Adaptive(adaptive) if adaptive.was_bound())
    }
}

/// Whether the system's clock has stood still for a tenth of a second, since this was first
/// asked. For spins that see no progress.
#[doc(hidden)]
#[cold]
pub fn clock_stands() -> bool {
    clock::stands(clock::now())
}

/// How long ago `deadline` was, if it has passed. On Windows std takes instants up to a count
/// of its clock apart, mostly 100 ns, for the same: its subtraction alone would be early.
#[inline]
pub(crate) fn passed(deadline: Instant, now: Instant) -> Option<Duration> {
    let late = now.checked_duration_since(deadline);
    if cfg!(windows) && now < deadline {
        return None;
    }
    late
}

/// `duration` after `now`, at most a hundred years.
pub(crate) fn after(now: Instant, duration: Duration) -> Instant {
    const AGES: Duration = Duration::from_secs(100 * 365 * 86_400);
    now.checked_add(duration.min(AGES)).unwrap_or(now)
}

// A clock of the user's that panics leaves a wait that has not ended, and nothing broken.
impl UnwindSafe for Waiter {}
impl RefUnwindSafe for Waiter {}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_deadline_has_passed_a_nanosecond_early() {
        let (now, ns) = (Instant::now(), Duration::from_nanos(1));
        assert_eq!(passed(now + ns, now), None);
        assert_eq!(passed(now, now), Some(Duration::ZERO));
        let late = Duration::from_micros(1);
        assert_eq!(passed(now, now + late), Some(late));
    }
}
