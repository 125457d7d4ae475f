use std::time::{Duration, Instant};

use punctual_core::schedule::{Linger, Schedule};

use crate::cancel::Cancel;
use crate::clock::Anchor;
use crate::outcome::{Cancelled, Outcome};
use crate::period::Period;
use crate::slots::{MissedTickBehavior, SlotCounts};
use crate::statistics::Statistics;
use crate::target::TargetStatus;
use crate::ticker::{Caller, Tick, Ticker, interval, interval_at};
use crate::waiter::{Waiter, after};

/// Paces work at a rate, from a few to a million a second: requests of a load
/// generator, packets, commands.
///
/// A slot is when a piece of work was meant to begin, [`Tick::scheduled`], however late the
/// previous ones were. Measure from there, and not from when the work did begin. Then delays of
/// the measured system stay in the measurement (no coordinated omission).
///
/// # Stalls
///
/// Unlike those of a [`Ticker`], slots that have passed are owed. They come at once, one after the
/// other, until the pacer has caught up. [`MissedTickBehavior`] has other ways; none drops a slot
/// without counting it.
///
/// # Accuracy
///
/// That of the waiter. Slots closer together than a nap takes are spun for, unless a
/// [`Budget`](crate::Budget) says otherwise, or they are taken
/// [in batches](Self::next_batch).
///
/// # Examples
///
/// ```
/// use punctual::{Pacer, Period};
///
/// for slot in Pacer::new(Period::hz(20_000)?).take(5) {
///     // send(...);
///     println!("done {:?} after it was meant to begin", slot.scheduled().elapsed());
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Debug)]
pub struct Pacer(Ticker);

impl Pacer {
    /// One whose first slot is due now.
    pub fn new(period: Period) -> Self {
        Self(interval(period).with_missed_tick_behavior(MissedTickBehavior::Burst))
    }

    /// One whose first slot is due at `start`, however far away that is. Slots that pass before the first call are
    /// owed: where it takes time to connect, begin then, or [`reset`](Self::reset_at).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::{Pacer, Period};
    ///
    /// let start = Instant::now() + Duration::from_secs(60);
    /// let mut pacer = Pacer::starting_at(start, Period::const_hz::<1_000>());
    /// assert!(pacer.try_next_slot().is_none()); // not due yet
    /// assert_eq!(pacer.next_at(), start);
    /// assert_eq!(pacer.period(), Period::const_hz::<1_000>());
    /// ```
    pub fn starting_at(start: Instant, period: Period) -> Self {
        Self(interval_at(start, period).with_missed_tick_behavior(MissedTickBehavior::Burst))
    }

    /// Makes the gaps random, on average a period, and none says anything of the
    /// next: a Poisson process, as of the requests of many users. The first slot stays.
    /// The same seed has the same gaps, on every platform.
    ///
    /// # Cost
    /// Slots that have passed are counted one by one, a million at a time.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{Pacer, Period};
    ///
    /// let mut pacer = Pacer::new(Period::const_hz::<20_000>()).poisson(7);
    /// let gaps: Vec<_> = (0..5).map(|_| pacer.next_slot().scheduled()).collect();
    /// assert!(gaps.is_sorted());
    /// ```
    #[must_use]
    pub fn poisson(mut self, seed: u64) -> Self {
        self.0.schedule.set_random(seed);
        self
    }

    /// Sets the treatment of slots that have passed; the default is
    /// [`Burst`](MissedTickBehavior::Burst).
    #[must_use]
    pub fn with_missed_tick_behavior(self, behavior: MissedTickBehavior) -> Self {
        Self(self.0.with_missed_tick_behavior(behavior))
    }

    /// Returns the treatment of slots that have passed.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.0.missed_tick_behavior()
    }

    /// Changes the treatment of slots that have passed, from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{MissedTickBehavior, Pacer, Period};
    ///
    /// let mut pacer = Pacer::new(Period::const_hz::<1_000>());
    /// pacer.set_missed_tick_behavior(MissedTickBehavior::BurstOf(100));
    /// assert_eq!(pacer.missed_tick_behavior(), MissedTickBehavior::BurstOf(100));
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.0.set_missed_tick_behavior(behavior);
    }

    /// Waits with this waiter, as [`Ticker::waiter`].
    #[must_use]
    pub fn waiter(self, waiter: Waiter) -> Self {
        Self(self.0.waiter(waiter))
    }

    /// Waits with another waiter, as [`Ticker::set_waiter`].
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{Budget, Pacer, Period, Waiter};
    ///
    /// let mut pacer = Pacer::new(Period::const_hz::<1_000>());
    /// pacer.set_waiter(Waiter::builder().budget(Budget::Share(0.05)).build()?);
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn set_waiter(&mut self, waiter: Waiter) {
        self.0.set_waiter(waiter);
    }

    /// Waits for the next slot; returns at once if it has passed.
    #[inline]
    pub fn next_slot(&mut self) -> Tick {
        self.0.tick()
    }

    /// As [`next_slot`](Self::next_slot), or until `cancel` is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`], as [`Ticker::tick_or`].
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{Cancel, Pacer, Period};
    ///
    /// let stop = Cancel::new(); // another thread ends the loop with stop.cancel()
    /// let mut pacer = Pacer::new(Period::const_hz::<1_000>());
    /// while let Ok(slot) = pacer.next_slot_or(&stop) {
    ///     println!("slot {}", slot.number());
    ///     # stop.cancel();
    /// }
    /// ```
    #[inline]
    pub fn next_slot_or(&mut self, cancel: &Cancel) -> Result<Tick, Cancelled> {
        self.0.tick_or(cancel)
    }

    /// The next slot if it has passed, without waiting, as [`Ticker::try_tick`].
    #[inline]
    pub fn try_next_slot(&mut self) -> Option<Tick> {
        self.0.try_tick()
    }

    /// Waits until `linger` after the next slot is due, and takes all that are due then, up to
    /// `most` and at least one. That means fewer waits, and fewer system calls where several can
    /// be sent at once. No slot of it is early. None is later than `linger` and the lateness of
    /// the wait, unless it was owed.
    ///
    /// The wait makes no slot late: no [`MissedTickBehavior`] gives up slots that fell due during
    /// the linger. Where they are more than `most`, the next batch has the others. A caller that
    /// comes after the linger still gets the slots that were due by its end; the behaviour applies
    /// to later ones.
    pub fn next_batch(&mut self, most: u32, linger: Duration) -> Batch {
        let (deadline, has_waited) = self.batch_at(linger);
        let outcome = self.0.waiter.sleep_until(deadline);
        self.batch(most, (deadline, has_waited), outcome)
    }

    /// As [`next_batch`](Self::next_batch), or until `cancel` is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`], as [`Ticker::tick_or`]; no slot is taken then.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::{Cancel, Pacer, Period};
    ///
    /// let stop = Cancel::new();
    /// let mut pacer = Pacer::new(Period::const_hz::<20_000>());
    /// let batch = pacer.next_batch_or(64, Duration::from_micros(500), &stop)?;
    /// println!("{} slots, {:?} late", batch.len(), batch.outcome().lateness());
    /// stop.cancel();
    /// assert!(pacer.next_batch_or(64, Duration::from_micros(500), &stop).is_err());
    /// # Ok::<(), punctual::Cancelled>(())
    /// ```
    pub fn next_batch_or(
        &mut self,
        most: u32,
        linger: Duration,
        cancel: &Cancel,
    ) -> Result<Batch, Cancelled> {
        let (deadline, has_waited) = self.batch_at(linger);
        let outcome = self.0.waiter.sleep_until_or(deadline, cancel)?;
        Ok(self.batch(most, (deadline, has_waited), outcome))
    }

    /// When the next slot is due.
    #[inline]
    pub fn next_at(&self) -> Instant {
        self.0.next_at()
    }

    /// Returns the period.
    pub fn period(&self) -> Period {
        self.0.period()
    }

    /// Changes the rate, as [`Ticker::set_period`]. Owed slots except the last are missed, and
    /// counted as such. To send them, catch up first.
    pub fn set_period(&mut self, period: Period) {
        self.0.set_period(period);
    }

    /// Moves all slots to come, as [`Ticker::nudge`].
    pub fn nudge(&mut self, by_ns: i64) {
        self.0.nudge(by_ns);
    }

    /// Begins anew, as [`Ticker::reset`]: the next slot is one period from now.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// Begins anew, as [`Ticker::reset_at`]: the next slot is `at`, and what is owed is
    /// missed.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::{Pacer, Period};
    ///
    /// let mut pacer = Pacer::new(Period::const_hz::<1_000>());
    /// let connected = Instant::now() + Duration::from_millis(1);
    /// pacer.reset_at(connected); // what was owed until then is missed
    /// assert_eq!(pacer.next_at(), connected);
    /// ```
    pub fn reset_at(&mut self, at: Instant) {
        self.0.reset_at(at);
    }

    /// Returns the counts of all slots until the last one that was taken. Of random slots it
    /// counts each owed one once.
    pub fn counts(&mut self) -> SlotCounts {
        self.0.schedule.count_owed();
        self.0.counts()
    }

    /// Keeps [`Statistics`] of all slots from now on, as [`Ticker::keep_statistics`]; a
    /// batch is one wait.
    pub fn keep_statistics(&mut self) {
        self.0.keep_statistics();
    }

    /// Returns statistics of the slots; empty if they are not kept.
    pub fn statistics(&self) -> Statistics {
        self.0.statistics()
    }

    /// As [`statistics`](Self::statistics), and begins anew.
    pub fn take_statistics(&mut self) -> Statistics {
        self.0.take_statistics()
    }

    /// Returns how well its waiter meets its target, as [`Waiter::target_status`].
    pub fn target_status(&self) -> Option<TargetStatus> {
        self.0.target_status()
    }

    /// When the batch is taken, and whether that is still to come.
    fn batch_at(&self, linger: Duration) -> (Instant, bool) {
        let deadline = after(self.0.next_at(), linger);
        (deadline, self.0.waiter.now() < deadline)
    }

    fn batch(
        &mut self,
        most: u32,
        (deadline, has_waited): (Instant, bool),
        outcome: Outcome,
    ) -> Batch {
        let anchor = self.0.anchor;
        let actual = deadline + outcome.lateness();
        let linger = Linger {
            until: anchor.tick(deadline),
            has_waited,
            now: anchor.tick(actual),
        };
        let ahead = self.0.schedule;
        let mut slots = 0;
        while slots == 0 || slots < most && self.0.schedule.next_at() <= linger.now {
            slots += 1;
            let served = self.0.schedule.serve_lingered(&linger, slots >= most);
            self.0.waiter.missed(served.missed);
        }
        Batch {
            schedule: ahead,
            anchor,
            linger,
            actual,
            left: slots,
            outcome,
        }
    }
}

/// Never ends.
impl Iterator for Pacer {
    type Item = Tick;

    fn next(&mut self) -> Option<Tick> {
        Some(self.next_slot())
    }
}

/// Slots that were taken together, the oldest first.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Pacer, Period};
///
/// let mut pacer = Pacer::new(Period::hz(20_000)?);
/// let batch = pacer.next_batch(64, Duration::from_micros(500));
/// println!("{} packets in one call", batch.len());
/// assert!(batch.len() >= 10);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    /// As it was before they were taken, to tell them again.
    schedule: Schedule<Caller>,
    anchor: Anchor<Caller>,
    linger: Linger<Caller>,
    actual: Instant,
    left: u32,
    outcome: Outcome,
}

impl Batch {
    /// The wait for it; its lateness is that after the linger.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

impl Iterator for Batch {
    type Item = Tick;

    fn next(&mut self) -> Option<Tick> {
        self.left = self.left.checked_sub(1)?;
        let served = self.schedule.serve_lingered(&self.linger, self.left == 0);
        let scheduled = self.anchor.instant(served.at);
        let late = self.actual.saturating_duration_since(scheduled);
        Some(Tick {
            number: served.number,
            scheduled,
            missed: served.missed,
            outcome: Outcome::of_past_deadline(late),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.left as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Batch {}
