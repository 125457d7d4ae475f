//! When ticks are due, which of them were given, and which were not.

use crate::arrivals::Arrivals;
use crate::period::Period;
use crate::time::{Nanos, Tick};

/// How a late tick treats missed slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MissedTickBehavior {
    /// They are owed: the next ticks come at once, until the schedule is caught
    /// up with.
    Burst,
    /// As [`Burst`](Self::Burst), but at most so many are owed; older ones are
    /// missed.
    BurstOf(u64),
    /// A tick that is a period or more late starts the schedule anew: the next comes
    /// a period after it, and none is missed.
    Delay,
    /// They are missed: the next tick is for the first slot to come, in phase with
    /// those before.
    #[default]
    Skip,
}

/// The slots of a period on one clock, and the counts of what became of them.
///
/// It has no clock: a caller that waits for [`next_at`](Self::next_at) reports the end of the wait
/// by [`serve`](Self::serve). A slot is a whole number of periods after the first. It does not
/// depend on the times of wake-ups, so lateness never adds up.
///
/// # Examples
///
/// ```
/// use punctual_core::schedule::{MissedTickBehavior, Schedule};
/// use punctual_core::{Clock, Nanos, Period, Tick};
///
/// #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
/// struct Virtual;
/// impl Clock for Virtual {}
/// let ms = |ms: u64| Tick::<Virtual>::from_ns(ms * 1_000_000);
///
/// let period = Period::every(Nanos::from_ms(10)).unwrap();
/// let mut schedule = Schedule::starting_at(ms(100), period, MissedTickBehavior::Skip);
/// assert_eq!(schedule.next_at(), ms(100));
/// assert_eq!(schedule.serve(ms(100)).missed, 0);
/// // A stall: the slots at 120 and 130 are over when the one at 110 is served.
/// assert_eq!(schedule.serve(ms(135)).missed, 2);
/// assert_eq!(schedule.next_at(), ms(140));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Schedule<C> {
    period: Period,
    behavior: MissedTickBehavior,
    number: u64,
    /// The next slot, and by how many parts of a nanosecond it is later than that.
    at: Tick<C>,
    rest: u64,
    /// The gaps, where they are random.
    arrivals: Option<Arrivals>,
    ahead: Ahead<C>,
    /// The slot before, if the schedule has not begun anew since.
    before: Option<Tick<C>>,
    /// The last instant that it was told.
    seen: Tick<C>,
    ticks: u64,
    missed: u64,
    /// Of the missed ones those that no tick has told of.
    untold: u64,
    shifts: u64,
    shift_ns: i64,
}

/// Random slots that were found to be due before they are served. A late caller thus counts each
/// of them once and not again at each tick.
#[derive(Clone, Copy, Debug)]
struct Ahead<C> {
    /// How many; what else is here means nothing without any.
    due: u64,
    /// The last of them, and the slot after it.
    last: Tick<C>,
    at: Tick<C>,
    arrivals: Arrivals,
}

/// The number of random slots that are examined beforehand, one by one.
const LOOK: u64 = 1 << 20;

/// The wait for a batch of slots.
///
/// Slots that fall due during it are late because of the wait, not because of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linger<C> {
    /// The deadline of the wait.
    pub until: Tick<C>,
    /// Whether the caller came before `until`, so that it waited at all.
    pub has_waited: bool,
    /// When the batch is taken; not before `until`.
    pub now: Tick<C>,
}

/// A slot that was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served<C> {
    /// Which slot: the first is 0, and missed ones count.
    pub number: u64,
    /// When it was due.
    pub at: Tick<C>,
    /// How many slots were missed since the tick before, and because of this one.
    pub missed: u64,
}

/// The counts of all slots so far. Each due slot is ticked, missed or owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotCounts {
    /// Slots that have been due when the schedule was last looked at; one that was
    /// served before its time is one of them.
    pub due: u64,
    /// Slots that were served.
    pub ticks: u64,
    /// Slots that were given up.
    pub missed: u64,
    /// Slots that are still to be served.
    pub owed: u64,
    /// How often the schedule began anew or was moved: after a late tick under
    /// [`Delay`](MissedTickBehavior::Delay), by a nudge, a change of rate, a reset.
    pub shifts: u64,
    /// By how many ns that moved the next slot, in all; negative is earlier.
    pub shift_ns: i64,
}

impl<C> Schedule<C> {
    /// One whose first slot is `first`.
    pub const fn starting_at(first: Tick<C>, period: Period, behavior: MissedTickBehavior) -> Self {
        Self {
            period,
            behavior,
            number: 0,
            at: first,
            rest: 0,
            arrivals: None,
            ahead: Ahead {
                due: 0,
                last: Tick::from_ns(0),
                at: Tick::from_ns(0),
                arrivals: Arrivals::new(0),
            },
            before: None,
            seen: Tick::from_ns(0),
            ticks: 0,
            missed: 0,
            untold: 0,
            shifts: 0,
            shift_ns: 0,
        }
    }
}

impl<C: Copy + Ord> Schedule<C> {
    /// One whose first slot has passed at `origin`, for [`next_after`](Self::next_after).
    pub fn begun_at(origin: Tick<C>, period: Period) -> Self {
        let mut schedule = Self::starting_at(origin, period, MissedTickBehavior::Skip);
        schedule.serve(origin);
        schedule
    }

    /// When the next slot is due.
    pub const fn next_at(&self) -> Tick<C> {
        self.at
    }

    /// Serves the next slot at `now`, which is not before it, unless it is given
    /// out ahead of its time.
    #[inline]
    pub fn serve(&mut self, now: Tick<C>) -> Served<C> {
        let (number, at) = self.advance();
        let missed = self.see(now);
        Served { number, at, missed }
    }

    /// The first half of [`serve`](Self::serve), before it is known when that is: the number
    /// of the slot, and when it is due.
    #[inline]
    pub fn advance(&mut self) -> (u64, Tick<C>) {
        let served = (self.number, self.at);
        self.ticks += 1;
        self.number = self.number.saturating_add(1);
        self.step();
        served
    }

    /// The other half: the slot was served at `now`. How many slots were missed since the
    /// one before, and because of this one.
    #[inline]
    pub fn see(&mut self, now: Tick<C>) -> u64 {
        self.seen = now;
        if self.at <= now {
            self.make_up(now, Tick::from_ns(0));
        }
        std::mem::take(&mut self.untold)
    }

    /// Serves the next slot as one of a batch. `is_last` says that the batch is full with it.
    ///
    /// A batch has all slots that are due at the end of its wait, until it is full. The
    /// [behaviour](MissedTickBehavior) applies to slots that the caller came too late for: those
    /// due after the deadline of a wait that did not take place. Of a full batch it also applies
    /// to slots due after that deadline, while those due before it stay owed.
    pub fn serve_lingered(&mut self, linger: &Linger<C>, is_last: bool) -> Served<C> {
        let (number, at) = self.advance();
        let (until, now) = (linger.until, linger.now);
        let end = if linger.has_waited { now } else { until };
        let missed = if self.at > end {
            self.see(now)
        } else {
            self.seen = now;
            if is_last {
                self.make_up(now, until);
            }
            std::mem::take(&mut self.untold)
        };
        Served { number, at, missed }
    }

    /// Gives out the first slot after `now`; those before it are missed, whatever
    /// the behaviour.
    pub fn next_after(&mut self, now: Tick<C>) -> Served<C> {
        self.seen = now;
        self.miss(self.owed_at(self.seen));
        let served = self.serve(self.at);
        self.seen = now;
        served
    }

    /// How many slots are due at `now` and not served; of random ones at most a
    /// million, as those are counted one by one.
    pub fn owed_at(&self, now: Tick<C>) -> u64 {
        if now < self.at {
            return 0;
        }
        if let Some(arrivals) = self.arrivals {
            return self.look_ahead(arrivals, now).due;
        }
        let more = self.period.fit_after(now.since(self.at), self.rest);
        more.saturating_add(1)
    }

    /// Slots have the new period from the last due slot on. At most one is then due at `now`. It
    /// is a slot of the old period, or the last of several passed ones of the new period. Older
    /// owed slots are missed. Of random slots at most a million are missed, and further owed ones
    /// are postponed to `now`.
    pub fn set_period(&mut self, period: Period, now: Tick<C>) {
        self.seen = now;
        self.miss(self.owed_at(self.seen).saturating_sub(1));
        let old = self.at;
        self.period = period;
        (self.rest, self.ahead.due) = (0, 0);
        let from = if self.arrivals.is_some() {
            // When the last one was says nothing about the next.
            Some(now)
        } else {
            self.before
        };
        if let (Some(from), true) = (from, old > now) {
            self.at = from;
            self.step();
        }
        self.forward(self.owed_at(self.seen).saturating_sub(1));
        if self.arrivals.is_some() && self.owed_at(now) > 1 {
            self.move_to(now);
        }
        self.shifted_from(old);
    }

    /// Moves all slots that were not served, by nanoseconds; negative is earlier.
    pub fn nudge(&mut self, by_ns: i64) {
        let old = self.at;
        let by = Nanos::new(by_ns.unsigned_abs());
        let ahead = [&mut self.at, &mut self.ahead.last, &mut self.ahead.at];
        for at in ahead.into_iter().chain(&mut self.before) {
            *at = if by_ns < 0 { *at - by } else { *at + by };
        }
        self.shifted_from(old);
    }

    /// Starts anew: the next slot is `at`. Slots that are due at `now` are missed.
    pub fn reset_at(&mut self, at: Tick<C>, now: Tick<C>) {
        self.seen = now;
        self.miss(self.owed_at(self.seen));
        let old = self.at;
        self.move_to(at);
        self.before = None;
        self.shifted_from(old);
    }

    /// After [`reset_at`](Self::reset_at): calls the next slot `at` and the present `now`, for a
    /// caller that now counts the ticks of its clock from elsewhere. The counts do not change.
    pub const fn recount(&mut self, at: Tick<C>, now: Tick<C>) {
        self.move_to(at);
        self.seen = now;
    }

    /// Returns how late ticks treat missed slots.
    pub const fn behavior(&self) -> MissedTickBehavior {
        self.behavior
    }

    /// Sets how late ticks treat missed slots from now on.
    pub const fn set_behavior(&mut self, behavior: MissedTickBehavior) {
        self.behavior = behavior;
    }

    /// Makes the gaps after the next slot random, on average a period: a Poisson
    /// process. The same seed has the same gaps.
    pub const fn set_random(&mut self, seed: u64) {
        self.arrivals = Some(Arrivals::new(seed));
        self.ahead.due = 0;
    }

    /// The period.
    pub const fn period(&self) -> Period {
        self.period
    }

    /// Counts the random slots that are owed, so that repeated calls for the counts include each
    /// of them once.
    pub fn count_owed(&mut self) {
        if let (Some(arrivals), true) = (self.arrivals, self.at <= self.seen) {
            self.ahead = self.look_ahead(arrivals, self.seen);
        }
    }

    /// The counts, as of when it was last looked at.
    pub fn counts(&self) -> SlotCounts {
        let owed = self.owed_at(self.seen);
        SlotCounts {
            due: self.number.saturating_add(owed),
            ticks: self.ticks,
            missed: self.missed,
            owed,
            shifts: self.shifts,
            shift_ns: self.shift_ns,
        }
    }

    /// A tick at `now` was too late for slots after it. Slots due at `until` stay owed, as the
    /// caller is not late for them.
    #[cold]
    fn make_up(&mut self, now: Tick<C>, until: Tick<C>) {
        let owed = self.owed_at(until);
        let most = match self.behavior {
            MissedTickBehavior::Burst => return,
            MissedTickBehavior::BurstOf(most) => most.saturating_add(owed),
            MissedTickBehavior::Skip => owed,
            MissedTickBehavior::Delay if owed == 0 => {
                let old = self.at;
                self.move_to(now);
                self.step();
                return self.shifted_from(old);
            }
            MissedTickBehavior::Delay => {
                if self.owed_at(now) > owed {
                    self.nudge(now.late_for(until).as_ns());
                }
                return;
            }
        };
        if let Some(arrivals) = self.arrivals {
            self.ahead = self.look_ahead(arrivals, now);
        }
        self.miss(self.owed_at(now).saturating_sub(most));
    }

    /// The random slots that are due at `now`: those that are known, and more.
    fn look_ahead(&self, arrivals: Arrivals, now: Tick<C>) -> Ahead<C> {
        let mut ahead = self.ahead;
        if ahead.due == 0 || ahead.last > now {
            ahead = Ahead {
                due: 0,
                last: self.at,
                at: self.at,
                arrivals,
            };
        }
        while ahead.at <= now && ahead.at < Tick::NEVER && ahead.due < LOOK {
            ahead.due += 1;
            ahead.last = ahead.at;
            ahead.at = ahead.at + ahead.arrivals.gap(self.period);
        }
        ahead
    }

    const fn move_to(&mut self, at: Tick<C>) {
        (self.at, self.rest, self.ahead.due) = (at, 0, 0);
    }

    fn miss(&mut self, slots: u64) {
        self.number = self.number.saturating_add(slots);
        self.missed = self.missed.saturating_add(slots);
        self.untold = self.untold.saturating_add(slots);
        self.forward(slots);
    }

    fn forward(&mut self, slots: u64) {
        if self.arrivals.is_some() {
            (0..slots).for_each(|_| self.step());
        } else if slots > 0 {
            let (length, rest) = self.period.times_after(slots - 1, self.rest);
            (self.at, self.rest) = (self.at + length, rest);
            self.step();
        }
    }

    #[inline]
    fn step(&mut self) {
        self.before = Some(self.at);
        let gap = match &mut self.arrivals {
            None => {
                let (gap, rest) = self.period.once_after(self.rest);
                self.rest = rest;
                gap
            }
            Some(arrivals) => {
                self.ahead.due = self.ahead.due.saturating_sub(1);
                arrivals.gap(self.period)
            }
        };
        self.at = self.at + gap;
    }

    fn shifted_from(&mut self, old: Tick<C>) {
        self.shifts = self.shifts.saturating_add(1);
        let by_ns = self.at.late_for(old).as_ns();
        self.shift_ns = self.shift_ns.saturating_add(by_ns);
    }
}

#[cfg(test)]
mod tests;
