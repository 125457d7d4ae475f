use std::time::{Duration, Instant};

use punctual_core::schedule::Schedule;

use crate::cancel::Cancel;
use crate::clock::Anchor;
use crate::driver::Stops;
use crate::outcome::{Cancelled, Outcome};
use crate::own;
use crate::period::Period;
use crate::slots::{MissedTickBehavior, SlotCounts};
use crate::statistics::Statistics;
use crate::target::TargetStatus;
use crate::waiter::{Waiter, after, passed};

/// The caller's clock, counted so that a schedule may be moved before its begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Caller;
impl punctual_core::Clock for Caller {}

/// 146 years before the slots begin that can be counted, which end 438 years after it.
pub(crate) const BEGIN: punctual_core::Tick<Caller> = punctual_core::Tick::from_ns(1 << 62);

/// A [`Ticker`] whose first tick is due now.
///
/// # Examples
///
/// ```
/// use punctual::{Period, interval};
///
/// for tick in interval(Period::hz(1_000)?).take(3) {
///     println!("{}: {:?} late, {} missed", tick.number(), tick.lateness(), tick.missed());
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
pub fn interval(period: Period) -> Ticker {
    Ticker {
        begins_now: true,
        ..interval_at(own::now(), period)
    }
}

/// A [`Ticker`] whose first tick is due at `start`, however far away that is.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use punctual::{Period, interval_at};
///
/// let start = Instant::now() + Duration::from_millis(2);
/// let tick = interval_at(start, Period::hz(1_000)?).tick();
/// assert_eq!(tick.scheduled(), start);
/// # Ok::<(), punctual::Error>(())
/// ```
pub fn interval_at(start: Instant, period: Period) -> Ticker {
    Ticker {
        schedule: Schedule::starting_at(BEGIN, period.0, MissedTickBehavior::Skip.core()),
        anchor: Anchor {
            instant: start,
            tick: BEGIN,
        },
        begins_now: false,
        waiter: Waiter::new(),
    }
}

/// Lets a schedule begin anew at `at`, however far away that is.
pub(crate) fn reset_at(
    schedule: &mut Schedule<Caller>,
    anchor: &mut Anchor<Caller>,
    at: Instant,
    now: Instant,
) {
    schedule.reset_at(anchor.tick(at), anchor.tick(now));
    if anchor.instant(schedule.next_at()) != at {
        *anchor = Anchor {
            instant: at,
            tick: BEGIN,
        };
        schedule.recount(BEGIN, anchor.tick(now));
    }
}

/// Ticks at an exact rate, in phase for ever.
///
/// Each slot lies a whole number of periods after the first one. No tick comes
/// before its slot; one that comes later does not move those after it, and its
/// [lateness](Tick::lateness) is that against its slot.
///
/// # Stalls
///
/// A tick for a slot that has passed comes at once. [`MissedTickBehavior`] decides about other
/// slots that have passed by then; by default they are [missed](MissedTickBehavior::Skip). After a
/// stall of 5 s at 1 kHz there is one tick that is up to 5 s late. It tells of some 5,000 missed
/// slots, and the next is in phase. Nothing is ever dropped silently: see [`counts`](Self::counts).
///
/// A suspend is a stall where [`Instant`] goes on meanwhile, on Windows. On Linux
/// and macOS it stands still, and nothing is missed.
///
/// # Range
///
/// The first slot, and that after [`reset_at`](Self::reset_at), may be at any instant. Slots
/// from 146 years before it to 438 years after it are exact. A period or a
/// [nudge](Self::nudge) that leads beyond ends there.
///
/// # Accuracy
///
/// That of the waiter, as [`sleep`](crate::sleep) has it. A tick adds far less than a microsecond;
/// it allocates nothing.
///
/// # Examples
///
/// ```
/// use punctual::{Cancel, MissedTickBehavior, Period, interval};
///
/// let stop = Cancel::new(); // another thread ends the loop with stop.cancel()
/// let mut ticker = interval(Period::hz_ratio(60_000, 1_001)?)
///     .with_missed_tick_behavior(MissedTickBehavior::Delay);
/// while let Ok(tick) = ticker.tick_or(&stop) {
///     println!("{:?} late", tick.lateness());
///     # stop.cancel();
/// }
/// let counts = ticker.counts();
/// assert_eq!(counts.due, counts.ticks + counts.missed + counts.owed);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Debug)]
pub struct Ticker {
    pub(crate) waiter: Waiter,
    pub(crate) schedule: Schedule<Caller>,
    pub(crate) anchor: Anchor<Caller>,
    /// Whether the first slot was to be now, and not at an instant of the caller's.
    begins_now: bool,
}

impl Ticker {
    /// Sets how a late tick treats missed slots; the default is
    /// [`Skip`](MissedTickBehavior::Skip).
    #[must_use]
    pub fn with_missed_tick_behavior(mut self, behavior: MissedTickBehavior) -> Self {
        self.set_missed_tick_behavior(behavior);
        self
    }

    /// Returns how a late tick treats missed slots.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        MissedTickBehavior::of(self.schedule.behavior())
    }

    /// Changes how late ticks treat missed slots, from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{MissedTickBehavior, Period, interval};
    ///
    /// let mut ticker = interval(Period::const_hz::<1_000>());
    /// ticker.set_missed_tick_behavior(MissedTickBehavior::Burst);
    /// assert_eq!(ticker.missed_tick_behavior(), MissedTickBehavior::Burst);
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.schedule.set_behavior(behavior.core());
    }

    /// Waits with this waiter, instead of one with the
    /// [default strategy](crate::Strategy::default).
    ///
    /// Where no start was chosen, as with [`interval`], the first slot is now on the clock of
    /// `waiter`, unless it has been ticked. All other slots stay: where `waiter` has another
    /// [clock](crate::Clock), choose an instant of that as the start, or with
    /// [`reset_at`](Self::reset_at).
    #[must_use]
    pub fn waiter(mut self, waiter: Waiter) -> Self {
        self.set_waiter(waiter);
        self
    }

    /// Waits with another waiter, as [`waiter`](Self::waiter). Statistics are those of the new
    /// one.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{Period, Strategy, Waiter, interval};
    ///
    /// let mut ticker = interval(Period::const_hz::<1_000>());
    /// ticker.set_waiter(Waiter::builder().strategy(Strategy::frugal()).build()?);
    /// println!("{} naps", ticker.tick().outcome().naps());
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn set_waiter(&mut self, waiter: Waiter) {
        if self.is_to_begin() {
            self.anchor.instant = waiter.now();
        }
        self.waiter = waiter;
    }

    /// Whether the first slot is still to be now, whenever that is.
    fn is_to_begin(&self) -> bool {
        self.begins_now && self.counts().ticks == 0
    }

    /// Waits for the next slot; returns at once if it has passed.
    #[inline]
    pub fn tick(&mut self) -> Tick {
        let scheduled = self.next_at();
        let near = self.waiter.approach(scheduled, Stops::default());
        self.arrive(scheduled, near)
    }

    /// As [`tick`](Self::tick), or until `cancel` is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`], also when it was cancelled before, even if the slot has passed;
    /// the slot is still to be ticked then.
    #[inline]
    pub fn tick_or(&mut self, cancel: &Cancel) -> Result<Tick, Cancelled> {
        let scheduled = self.next_at();
        let near = self.waiter.approach_or(scheduled, cancel)?;
        Ok(self.arrive(scheduled, near))
    }

    /// The tick for the next slot if that has passed, without waiting: for a loop that waits
    /// for [`next_at`](Self::next_at) with something else.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{Period, interval};
    ///
    /// let mut ticker = interval(Period::const_hz::<1_000>());
    /// assert_eq!(ticker.try_tick().map(|tick| tick.number()), Some(0)); // due at once
    /// while ticker.try_tick().is_none() {
    ///     std::thread::yield_now(); // or other work
    /// }
    /// ```
    #[inline]
    pub fn try_tick(&mut self) -> Option<Tick> {
        let (now, scheduled) = (self.waiter.now(), self.next_at());
        let late = passed(scheduled, now)?;
        let outcome = self.waiter.past_deadline(late);
        Some(self.arrive(scheduled, outcome))
    }

    /// When the next slot is due, to wait for it with something else and then
    /// [`try_tick`](Self::try_tick), or [`serve`](Self::serve) it.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.anchor.instant(self.schedule.next_at())
    }

    /// Returns the period.
    pub fn period(&self) -> Period {
        Period(self.schedule.period())
    }

    /// Changes the period, in phase: the new one counts from the last due slot. Where several
    /// would have passed by now, the next tick is for the last of these. A faster rate thus begins
    /// at once and without missed ticks.
    ///
    /// Of owed slots only the last one stays; the others are missed, as no debt is carried to
    /// another rate. No time counts before the first tick of [`interval`].
    ///
    /// # Accuracy
    /// Each change may move the phase by a nanosecond.
    pub fn set_period(&mut self, period: Period) {
        let now = match self.is_to_begin() {
            true => self.anchor.tick,
            false => self.anchor.tick(self.waiter.now()),
        };
        self.schedule.set_period(period.0, now);
    }

    /// Moves all slots to come by so many nanoseconds, later if it is positive. It follows an
    /// outer clock, as of a display, a sound card or PTP.
    pub fn nudge(&mut self, by_ns: i64) {
        self.schedule.nudge(by_ns);
    }

    /// Begins anew: the next slot is one period from now. As [`reset_at`](Self::reset_at).
    pub fn reset(&mut self) {
        self.reset_at(after(self.waiter.now(), self.period().times(1)));
    }

    /// Starts anew: the next slot is `at`, and those after it lie periods after that. Due slots
    /// without a tick are missed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::{Period, interval};
    ///
    /// let mut ticker = interval(Period::const_hz::<1_000>());
    /// let start = Instant::now() + Duration::from_millis(2);
    /// ticker.reset_at(start);
    /// assert_eq!(ticker.tick().scheduled(), start);
    /// assert_eq!(ticker.period(), Period::const_hz::<1_000>());
    /// ```
    pub fn reset_at(&mut self, at: Instant) {
        let now = self.waiter.now();
        reset_at(&mut self.schedule, &mut self.anchor, at, now);
        self.begins_now = false;
    }

    /// Returns the counts of all slots until the last tick or change.
    pub fn counts(&self) -> SlotCounts {
        SlotCounts::of(self.schedule.counts())
    }

    /// Keeps [`Statistics`] of all ticks from now on, as [`Waiter::keep_statistics`]. Ticks that
    /// other code waits for count as [already late](Statistics::already_late).
    pub fn keep_statistics(&mut self) {
        self.waiter.keep_statistics();
    }

    /// Returns statistics of the ticks; empty if they are not kept.
    pub fn statistics(&self) -> Statistics {
        self.waiter.statistics()
    }

    /// As [`statistics`](Self::statistics), and begins anew.
    pub fn take_statistics(&mut self) -> Statistics {
        self.waiter.take_statistics()
    }

    /// Returns how well its waiter meets its target, as [`Waiter::target_status`].
    pub fn target_status(&self) -> Option<TargetStatus> {
        self.waiter.target_status()
    }

    /// The tick for the next slot, after a wait of other code until `actual`: at or after
    /// [`next_at`](Self::next_at), which replaces an earlier value.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Instant;
    /// use punctual::{Period, interval};
    ///
    /// let mut ticker = interval(Period::hz(1_000)?);
    /// while Instant::now() < ticker.next_at() {
    ///     // An event loop waits for input here.
    /// }
    /// let tick = ticker.serve(Instant::now());
    /// println!("{}: {:?} late", tick.number(), tick.lateness());
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn serve(&mut self, actual: Instant) -> Tick {
        let scheduled = self.next_at();
        let late = actual.saturating_duration_since(scheduled);
        let outcome = self.waiter.past_deadline(late);
        self.arrive(scheduled, outcome)
    }

    /// The tick of a wait that is over, or nearly.
    #[inline]
    pub(crate) fn arrive(&mut self, scheduled: Instant, near: Outcome) -> Tick {
        // While there is time for it.
        let (number, at) = self.schedule.advance();
        let outcome = self.waiter.finish(near, scheduled);
        let missed = self.schedule.see(at + outcome.late);
        self.waiter.missed(missed);
        Tick {
            number,
            scheduled,
            missed,
            outcome,
        }
    }
}

/// Never ends.
impl Iterator for Ticker {
    type Item = Tick;

    fn next(&mut self) -> Option<Tick> {
        Some(self.tick())
    }
}

/// A slot of a [`Ticker`] or a [`Pacer`](crate::Pacer) and what became of it.
///
/// # Examples
///
/// ```
/// use punctual::{Period, interval};
///
/// let tick = interval(Period::hz(1_000)?).tick();
/// assert_eq!((tick.number(), tick.missed()), (0, 0));
/// assert_eq!(tick.actual() - tick.scheduled(), tick.lateness());
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    pub(crate) number: u64,
    pub(crate) scheduled: Instant,
    pub(crate) missed: u64,
    pub(crate) outcome: Outcome,
}

impl Tick {
    /// Which slot it is for: the first is 0, and missed ones count.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When it was due.
    pub fn scheduled(&self) -> Instant {
        self.scheduled
    }

    /// When it came. Never earlier.
    pub fn actual(&self) -> Instant {
        self.scheduled + self.outcome.lateness()
    }

    /// How much later it came than it was due.
    pub fn lateness(&self) -> Duration {
        self.outcome.lateness()
    }

    /// How many slots have and will have no tick. This tick was too late for them, or a change
    /// missed them since the previous tick.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The wait for it.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}
