use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use punctual_core::Strategy as _;
use punctual_core::strategies::{self, Adaptive, AnyStrategy, Promised};
use punctual_core::{Goal, Limit, Method, Nanos, Reason, Step, StrategySpec, Turn, Wake};
use punctual_sys::clock::{self, Host, Tick};
use punctual_sys::nap::{Cancel, Nap, Slack};
use punctual_sys::{Error, spin, thread};

use crate::anchor::Anchor;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::learned::Learned;
use crate::outcome::{End, Outcome};
use crate::promise::Promise;
use crate::statistics::Statistics;
use crate::strategy::Strategy;

/// Waits with one strategy, and keeps what that has learned.
///
/// A waiter may move between threads but serves one at a time; give each thread its own.
/// It is a value of less than 2 KB, holds no descriptor, and its constructor is `const`
/// and makes no system call, so it can be a field or a static. On Windows its first nap
/// creates a timer.
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
    strategy: AnyStrategy,
    nap: Nap,
    slack: Slack,
    /// Replaces the system's clock.
    clock: Option<Arc<dyn Clock>>,
    anchor: Option<Anchor<Host>>,
    /// How the last wait ended. The strategy is told when the next begins: after a nap its
    /// state is in no cache, and the caller is due.
    ended: Option<Ended>,
    kept: Option<Box<Kept>>,
}

/// Statistics of all waits but the last, which is counted when the next begins.
#[derive(Debug, Default)]
struct Kept {
    statistics: Statistics,
    last: Option<Outcome>,
}

impl Kept {
    fn settle(&mut self) {
        if let Some(outcome) = self.last.take() {
            self.statistics.record(&outcome);
        }
    }
}

/// What ends a wait before its deadline.
#[derive(Clone, Copy, Default)]
struct Stops<'a> {
    cancel: Option<&'a Cancel>,
    by_signals: bool,
    /// When it would spin.
    coarse: bool,
}

/// The last step of a wait.
#[derive(Clone, Copy, Debug)]
struct Ended {
    goal: Goal<Host>,
    wake: Wake<Host>,
}

/// Readings of the two clocks further apart than this are repeated, twice at most: the
/// time between them is an error of each deadline.
const APART: Duration = Duration::from_nanos(500);

impl Anchor<Host> {
    #[cold]
    fn now() -> Self {
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

/// The name under which strategies know the call that [`Nap::until`] blocks with.
const TIMER: Method = if cfg!(windows) {
    Method::HighResolutionTimer
} else if cfg!(target_os = "macos") {
    Method::MachWaitUntil
} else {
    Method::SlacklessFutex
};

/// The spin ends on the caller's clock, with the pause hint, from this long before the
/// deadline on.
const LAST: Nanos = Nanos::from_us(2);
/// How often the end of a wait is rehearsed, see [`Waiter::spin`].
const REHEARSALS: u32 = 2;
/// How often a spin looks whether it was cancelled.
const LOOK: Nanos = Nanos::from_us(20);

impl Waiter {
    /// A waiter with the [default strategy](Strategy::default).
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
            anchor: None,
            ended: None,
            kept: None,
        }
    }

    /// A waiter with a strategy, a budget and other settings of your choice.
    pub fn builder() -> Builder {
        Builder {
            strategy: Strategy::default(),
            budget: None,
            promise: None,
            slack: Slack::PerNap,
            learned: None,
            statistics: false,
            clock: None,
        }
    }

    /// The time on the clock of its waits: `Instant::now`, or that of
    /// [`Builder::clock`].
    #[inline]
    pub fn now(&self) -> Instant {
        match &self.clock {
            None => Instant::now(),
            Some(clock) => shown(clock),
        }
    }

    /// Waits for `duration` from now. Never early.
    ///
    /// # Accuracy
    /// That of the [strategy](Strategy). When all CPUs are busy, any OS call can end late
    /// by a time slice of the scheduler.
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
        let now = self.now();
        if now >= deadline {
            return self.past_deadline(now - deadline);
        }
        self.wait_out(now, deadline)
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
    ///         while waiter.wait_until(next, &stop).is_ok() {
    ///             next += Duration::from_secs(3);
    ///         }
    ///     }
    /// });
    /// stop.cancel();
    /// control.join().unwrap();
    /// ```
    pub fn wait_until(&mut self, deadline: Instant, cancel: &Cancel) -> Result<Outcome, Cancelled> {
        Cancelled::check(cancel)?;
        let now = self.now();
        if now >= deadline {
            return Ok(self.past_deadline(now - deadline));
        }
        let stops = Stops {
            cancel: Some(cancel),
            ..Stops::default()
        };
        let outcome = self.wait(now, deadline, stops);
        match outcome.end {
            End::Cancelled => Err(Cancelled(())),
            _ => Ok(outcome),
        }
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
    /// interrupted once a second.
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
    pub fn sleep_until_interruptible(&mut self, deadline: Instant) -> Result<Outcome, Interrupted> {
        let now = self.now();
        if now >= deadline {
            return Ok(self.past_deadline(now - deadline));
        }
        let stops = Stops {
            by_signals: true,
            ..Stops::default()
        };
        let outcome = self.wait(now, deadline, stops);
        match outcome.end {
            End::Interrupted => Err(Interrupted(())),
            _ => Ok(outcome),
        }
    }

    /// Sleeps until shortly before `deadline` without spinning, and returns the time left,
    /// for the caller to spin or to work in; zero if the deadline has passed.
    ///
    /// It returns when the strategy would begin to spin: at once if the wait is too short to
    /// sleep, and late with a strategy that never spins, such as [`Strategy::system`] or
    /// [`Budget::NeverSpin`].
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

    /// How well it keeps its [promise](Builder::promise); `None` without one.
    pub fn promised(&self) -> Option<Promised> {
        match &self.strategy {
            AnyStrategy::Adaptive(adaptive) => adaptive.promised(),
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
        kept.last.iter().for_each(|last| seen.record(last));
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

    /// What the strategy has learned, to begin another waiter with; `None` for strategies
    /// other than `adaptive`.
    pub fn learned(&self) -> Option<Learned> {
        match &self.strategy {
            AnyStrategy::Adaptive(adaptive) => Some(Learned(adaptive.learned())),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn wait_out(&mut self, now: Instant, deadline: Instant) -> Outcome {
        self.wait(now, deadline, Stops::default())
    }

    #[inline]
    fn wait(&mut self, begin: Instant, deadline: Instant, stops: Stops<'_>) -> Outcome {
        if let Some(kept) = &mut self.kept {
            kept.settle();
        }
        let outcome = self.wait_with(begin, deadline, stops);
        match &mut self.kept {
            Some(kept) if outcome.end == End::Deadline => kept.last = Some(outcome),
            _ => {}
        }
        outcome
    }

    /// The outcome says if it was stopped before the deadline.
    fn wait_with(&mut self, begin: Instant, deadline: Instant, stops: Stops<'_>) -> Outcome {
        let cancel = stops.cancel;
        let anchor = match self.anchor {
            Some(anchor) => anchor,
            None => *self.anchor.insert(self.new_anchor(begin)),
        };
        if let Some(Ended { goal, wake }) = self.ended.take() {
            self.strategy.next(&goal, &Turn::Woke(wake));
        }
        let goal = Goal::until(anchor.tick(deadline));
        let mut now = anchor.tick(begin);
        let mut outcome = Outcome::default();
        let mut step = self.strategy.next(&goal, &Turn::Begin(now));
        loop {
            let mut cpu = None;
            let (asked, reason) = match step {
                Step::Spin { .. } | Step::Yield { .. } | Step::Done if stops.coarse => {
                    outcome.end = End::Coarse;
                    return outcome;
                }
                Step::Block {
                    method,
                    limit,
                    metered,
                    ..
                } => {
                    let before = if metered { self.cpu_time() } else { None };
                    let reason = self.block(method, limit, (now, anchor), cancel);
                    if let Some(before) = before {
                        cpu = self.cpu_time().map(|after| after - before);
                    }
                    (limit.length(now), reason)
                }
                Step::Yield { .. } => {
                    match &self.clock {
                        None => std::thread::yield_now(),
                        Some(clock) => clock.yield_now(),
                    }
                    (Nanos::ZERO, Reason::Ran)
                }
                // No strategy of the library ends early, so `Done` does not occur.
                Step::Spin { .. } | Step::Done => {
                    outcome.hit_budget = self.was_bound();
                    return self.spin(goal, deadline, now, cancel, outcome);
                }
            };
            let woke = self.now();
            let from = std::mem::replace(&mut now, anchor.tick(woke));
            let wake = Wake {
                asked,
                slept: now.since(from),
                now,
                reason,
                cpu,
            };
            if let Step::Block { .. } = step {
                outcome.naps += 1;
                outcome.slept += wake.slept;
            } else {
                outcome.spun += wake.slept;
            }
            if woke >= deadline {
                self.ended = Some(Ended { goal, wake });
                outcome.late = (woke - deadline).into();
                outcome.hit_budget = self.was_bound();
                return outcome;
            }
            if reason == Reason::Event || cancel.is_some_and(Cancel::is_cancelled) {
                outcome.end = End::Cancelled;
                return outcome;
            }
            if stops.by_signals && reason == Reason::Interrupted {
                outcome.end = End::Interrupted;
                return outcome;
            }
            step = self.strategy.next(&goal, &Turn::Woke(wake));
        }
    }

    fn block(
        &mut self,
        method: Method,
        limit: Limit<Host>,
        (now, anchor): (Tick, Anchor<Host>),
        cancel: Option<&Cancel>,
    ) -> Reason {
        if let Some(clock) = &self.clock {
            match (method, limit) {
                (Method::Sleep, limit) => clock.nap(limit.length(now).into(), cancel),
                (_, Limit::Until(instant)) => clock.nap_until(anchor.instant(instant), cancel),
                (_, Limit::For(length)) => {
                    clock.nap_until(after(clock.now(), length.into()), cancel);
                }
            }
            return Reason::Timer;
        }
        match (method, limit) {
            (Method::Sleep, limit) => self.nap.ordinary(limit.length(now), cancel),
            (_, Limit::Until(instant)) => self.nap.until(instant, self.slack, cancel),
            (_, Limit::For(length)) => self.nap.until(clock::now() + length, self.slack, cancel),
        }
    }

    /// Spins until the caller's clock shows the deadline, or until it is cancelled.
    ///
    /// After a nap the caches are cold, so whatever is done for the first time is slow.
    /// The end of the wait is therefore rehearsed shortly before: when it counts, its code
    /// and data are in the cache, and the call returns at once.
    fn spin(
        &mut self,
        goal: Goal<Host>,
        deadline: Instant,
        from: Tick,
        cancel: Option<&Cancel>,
        so_far: Outcome,
    ) -> Outcome {
        let is_cancelled = || cancel.is_some_and(Cancel::is_cancelled);
        let mut now = from;
        let last = goal.deadline - LAST;
        while now < last && !is_cancelled() && self.clock.is_none() {
            let look = if cancel.is_some() { now + LOOK } else { last };
            now = spin::until(last.min(look));
        }
        let mut outcome = so_far;
        let mut rehearsals = REHEARSALS;
        loop {
            let woke = match &self.clock {
                None => Instant::now(),
                Some(clock) => clock.spin_until(deadline, cancel),
            };
            if woke < deadline && !is_cancelled() {
                if rehearsals == 0 {
                    std::hint::spin_loop();
                    continue;
                }
                rehearsals -= 1;
            }
            // Both clocks run at the same rate, so one reading tells both.
            let late = Nanos::from(woke.saturating_duration_since(deadline));
            let now = goal.deadline + late;
            let slept = now.since(from);
            outcome.late = late;
            outcome.spun = so_far.spun + slept;
            self.ended = Some(Ended {
                goal,
                wake: Wake {
                    asked: goal.deadline.since(from),
                    slept,
                    now,
                    reason: Reason::Ran,
                    cpu: None,
                },
            });
            if woke >= deadline {
                return outcome;
            }
            if is_cancelled() {
                self.ended = None;
                outcome.end = End::Cancelled;
                return outcome;
            }
        }
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

    fn cpu_time(&self) -> Option<Nanos> {
        match &self.clock {
            None => thread::exact_cpu_time(),
            Some(clock) => clock.cpu_time().map(Nanos::from),
        }
    }

    fn was_bound(&self) -> bool {
        matches!(&self.strategy, AnyStrategy::Adaptive(adaptive) if adaptive.was_bound())
    }
}

/// The time on a clock of the user's. Out of line, so that other waits do not pay for it.
#[cold]
#[inline(never)]
fn shown(clock: &Arc<dyn Clock>) -> Instant {
    clock.now()
}

/// `duration` after `now`, at most a hundred years.
pub(crate) fn after(now: Instant, duration: Duration) -> Instant {
    const AGES: Duration = Duration::from_secs(100 * 365 * 86_400);
    now.checked_add(duration.min(AGES)).unwrap_or(now)
}

// A clock of the user's that panics leaves a wait that has not ended, and nothing broken.
impl UnwindSafe for Waiter {}
impl RefUnwindSafe for Waiter {}
impl UnwindSafe for Builder {}
impl RefUnwindSafe for Builder {}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

/// A wait that ended before its deadline because it was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled(());

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted(());

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the wait was interrupted by a signal")
    }
}

impl std::error::Error for Interrupted {}

/// Builds a [`Waiter`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Builder {
    strategy: Strategy,
    budget: Option<Budget>,
    promise: Option<Promise>,
    slack: Slack,
    learned: Option<Learned>,
    statistics: bool,
    clock: Option<Arc<dyn Clock>>,
}

impl Builder {
    /// The strategy; by default [`Strategy::default`].
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// A hard limit on what `adaptive` spins, whatever the weight of lateness, also under
    /// load. [`Outcome::hit_budget`] says when it was too small.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// What `adaptive` promises: it adjusts its weight to keep that, starting from the
    /// weight of the strategy. A promise that limits spinning replaces the
    /// [`budget`](Self::budget).
    pub fn promise(mut self, promise: Promise) -> Self {
        self.promise = Some(promise);
        self
    }

    /// What naps do about the timer slack of their thread, on Linux; by default
    /// [`Slack::PerNap`].
    pub fn slack(mut self, slack: Slack) -> Self {
        self.slack = slack;
        self
    }

    /// Begins with what another waiter has [learned](Waiter::learned), so that the first
    /// waits are as good as its last. Strategies other than `adaptive` ignore it.
    pub fn learned(mut self, learned: &Learned) -> Self {
        self.learned = Some(learned.clone());
        self
    }

    /// Keeps [`Statistics`] from the first wait on.
    pub fn statistics(mut self) -> Self {
        self.statistics = true;
        self
    }

    /// Waits on this clock instead of the system's; [`Waiter::now`] reads it. [`Slack`] and
    /// signals then have no effect.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Builds the waiter.
    ///
    /// # Errors
    /// [`is_range`](Error::is_range) if a parameter of the strategy, the budget or the promise
    /// is out of range, or the strategy has no budget or promise.
    /// [`is_unsupported`](Error::is_unsupported) if the strategy names an OS call: the library
    /// uses the best one itself.
    pub fn build(self) -> Result<Waiter, Error> {
        let mut spec = self.strategy.spec(self.budget, self.promise)?;
        let timer = self.clock.as_ref().map_or(TIMER, |clock| clock.timer());
        if let (StrategySpec::FixedMargin { method, .. }, Some(_)) = (&mut spec, &self.clock) {
            // As the library has it on that system.
            *method = match timer {
                Method::HighResolutionTimer | Method::WaitableTimer => timer,
                _ => Method::Sleep,
            };
        } else if spec.method() == Some(Method::Timer) {
            spec = spec.with_method(timer);
        }
        let mut strategy = spec.build();
        if let (AnyStrategy::Adaptive(adaptive), Some(learned)) = (&mut strategy, &self.learned) {
            adaptive.begin_with(&learned.0);
        }
        Ok(Waiter {
            strategy,
            slack: self.slack,
            clock: self.clock,
            kept: self.statistics.then(Box::default),
            ..Waiter::new()
        })
    }
}
