use std::time::{Duration, Instant};

use punctual_core::Nanos;
use punctual_core::frames::Frames;

use crate::cancel::Cancel;
use crate::clock::Anchor;
use crate::driver::Stops;
use crate::outcome::{Cancelled, Outcome};
use crate::own;
use crate::period::Period;
use crate::slots::SlotCounts;
use crate::statistics::Statistics;
use crate::target::TargetStatus;
use crate::ticker::{BEGIN, Caller, reset_at};
use crate::waiter::Waiter;

/// Paces frames: work that is to be done by, or shown at, the slots of a rate.
///
/// There are two ways; choose one when you make it:
///
/// - [`late`](Self::late) waits before the work, and begins it as late as is safe for the next
///   slot. The result is as fresh as possible; use it to show a frame at the next refresh of a
///   display.
/// - [`at_end`](Self::at_end) waits after the work, so that frames are shown
///   evenly; a frame limiter.
///
/// How long the work will take is learned: a longer frame is believed at once, up to
/// a period, and forgotten slowly. It knows no engine and no display; follow
/// the instants of refreshes by [`nudge`](Self::nudge).
///
/// # Stalls
///
/// Slots that have passed are missed; frames stay in phase. Where a frame is a little too
/// long for its slot, the next one begins at once.
///
/// # Accuracy
///
/// That of the waiter, as [`sleep`](crate::sleep) has it. The work of a frame is
/// measured from the end of `begin` to the beginning of `end`, whatever it was stalled by. Show the
/// frame after `end`: with vsync that call can block.
///
/// # Examples
///
/// ```
/// use punctual::{FramePacer, Period};
///
/// let mut pacer = FramePacer::late(Period::hz_ratio(60_000, 1_001)?);
/// for _ in 0..3 {
///     let frame = pacer.begin();
///     // read input, draw for frame.target()
///     let done = pacer.end();
///     println!("frame {}: {:?} of work, {} missed", frame.number(), done.work(), done.missed());
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Debug)]
pub struct FramePacer {
    waiter: Waiter,
    frames: Frames<Caller>,
    anchor: Anchor<Caller>,
    /// Whether the slots were to begin now, and not at an instant of the caller's.
    begins_now: bool,
    is_late: bool,
    /// The frame that is being worked on.
    begun: Option<Frame>,
    /// When its work ended, where the end was cancelled.
    worked: Option<Instant>,
    ended: Option<Instant>,
}

/// The safety margin of gamescope before a refresh (gamescope#384).
const SAFETY: Nanos = Nanos::from_us(1_650);

impl FramePacer {
    /// Begins each frame as late as is safe to be done by its slot.
    pub fn late(period: Period) -> Self {
        Self::new(period, true)
    }

    /// Begins each frame at once, and ends it at its slot.
    pub fn at_end(period: Period) -> Self {
        Self::new(period, false)
    }

    fn new(period: Period, is_late: bool) -> Self {
        Self {
            waiter: Waiter::new(),
            frames: Frames::begun_at(BEGIN, period.0, SAFETY),
            anchor: Anchor {
                instant: own::now(),
                tick: BEGIN,
            },
            begins_now: true,
            is_late,
            begun: None,
            worked: None,
            ended: None,
        }
    }

    /// How much earlier than the predicted work would take frames begin that begin
    /// late; 1.65 ms if nothing is chosen, as gamescope has it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::{FramePacer, Period};
    ///
    /// let mut pacer = FramePacer::late(Period::const_hz::<60>()).safety(Duration::from_millis(3));
    /// pacer.set_safety(Duration::from_millis(2)); // from the next frame on
    /// ```
    #[must_use]
    pub fn safety(mut self, safety: Duration) -> Self {
        self.set_safety(safety);
        self
    }

    /// Changes the [`safety`](Self::safety) of the frames to come.
    pub fn set_safety(&mut self, safety: Duration) {
        self.frames.safety = safety.into();
    }

    /// Waits with this waiter, instead of one with the
    /// [default strategy](crate::Strategy::default).
    ///
    /// As with [`Ticker::waiter`](crate::Ticker::waiter), slots begin now on the clock of
    /// `waiter`, unless a frame has begun or [`reset_at`](Self::reset_at) chose a start.
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
    /// use punctual::{FramePacer, Period, Strategy, Waiter};
    ///
    /// let mut pacer = FramePacer::at_end(Period::const_hz::<60>());
    /// pacer.set_waiter(Waiter::builder().strategy(Strategy::exact()).build()?);
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn set_waiter(&mut self, waiter: Waiter) {
        if self.is_to_begin() {
            self.anchor.instant = waiter.now();
        }
        self.waiter = waiter;
    }

    /// Whether the first slot is still to be a period from now, whenever that is.
    fn is_to_begin(&self) -> bool {
        // One tick is that at the beginning.
        self.begins_now && self.counts().ticks <= 1
    }

    /// Begins a frame: at once, or as late as is safe.
    ///
    /// A slot is given up beforehand if not even half of the predicted work fits in
    /// before it.
    pub fn begin(&mut self) -> Frame {
        let (frames, frame, start) = self.plan();
        let near = match start {
            Some(start) => self.waiter.approach(start, Stops::default()),
            None => Outcome::default(),
        };
        self.begin_as(frames, frame, start, near)
    }

    /// As [`begin`](Self::begin), or until `cancel` is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`], as [`Ticker::tick_or`](crate::Ticker::tick_or); no frame has begun
    /// then.
    ///
    /// # Examples
    ///
    /// ```
    /// use punctual::{Cancel, FramePacer, Period};
    ///
    /// let stop = Cancel::new(); // another thread ends the loop with stop.cancel()
    /// let mut pacer = FramePacer::late(Period::const_hz::<500>());
    /// while let Ok(frame) = pacer.begin_or(&stop) {
    ///     println!("{:?} late", frame.outcome().lateness());
    ///     # stop.cancel();
    ///     if pacer.end_or(&stop).is_err() {
    ///         break;
    ///     }
    /// }
    /// ```
    pub fn begin_or(&mut self, cancel: &Cancel) -> Result<Frame, Cancelled> {
        Cancelled::check(cancel)?;
        let (frames, frame, start) = self.plan();
        let near = match start {
            Some(start) => self.waiter.approach_or(start, cancel)?,
            None => Outcome::default(),
        };
        Ok(self.begin_as(frames, frame, start, near))
    }

    /// Ends the frame: at once, or at its slot.
    pub fn end(&mut self) -> FrameEnd {
        let (frame, now) = self.worked();
        let near = if self.is_late {
            Outcome::of_past_deadline(now.saturating_duration_since(frame.target))
        } else {
            self.waiter.approach(frame.target, Stops::default())
        };
        self.end_as(frame, now, near)
    }

    /// As [`end`](Self::end), or until `cancel` is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`], as [`Ticker::tick_or`](crate::Ticker::tick_or); the frame has not
    /// ended then, but its work has.
    pub fn end_or(&mut self, cancel: &Cancel) -> Result<FrameEnd, Cancelled> {
        let cancelled = Cancelled::check(cancel);
        if self.begun.is_none() {
            cancelled?;
        }
        let (frame, now) = self.worked();
        cancelled?;
        let near = if self.is_late {
            Outcome::of_past_deadline(now.saturating_duration_since(frame.target))
        } else {
            self.waiter.approach_or(frame.target, cancel)?
        };
        Ok(self.end_as(frame, now, near))
    }

    /// How long the next frame is believed to take.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::{FramePacer, Period};
    ///
    /// let mut pacer = FramePacer::at_end(Period::const_hz::<200>());
    /// pacer.begin();
    /// std::thread::sleep(Duration::from_millis(1)); // the work
    /// println!("{:?} longer than planned", pacer.end().oversleep());
    /// assert!(pacer.predicted_work() >= Duration::from_millis(1));
    /// ```
    pub fn predicted_work(&self) -> Duration {
        self.frames.predicted().into()
    }

    /// Returns the period.
    pub fn period(&self) -> Period {
        Period(self.frames.schedule.period())
    }

    /// Changes the rate, as [`Ticker::set_period`](crate::Ticker::set_period).
    pub fn set_period(&mut self, period: Period) {
        let now = match self.is_to_begin() {
            true => self.anchor.tick,
            false => self.anchor.tick(self.waiter.now()),
        };
        self.frames.schedule.set_period(period.0, now);
    }

    /// Moves all slots to come, as [`Ticker::nudge`](crate::Ticker::nudge).
    pub fn nudge(&mut self, by_ns: i64) {
        self.frames.schedule.nudge(by_ns);
    }

    /// Begins anew, as [`Ticker::reset_at`](crate::Ticker::reset_at): the next slot is
    /// `at`, for a frame that has time enough before it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::{FramePacer, Period};
    ///
    /// let mut pacer = FramePacer::at_end(Period::const_hz::<60>());
    /// let refresh = Instant::now() + Duration::from_secs(60); // as the display reports it
    /// pacer.reset_at(refresh);
    /// assert_eq!(pacer.begin().target(), refresh);
    /// assert_eq!(pacer.period(), Period::const_hz::<60>());
    /// ```
    pub fn reset_at(&mut self, at: Instant) {
        let now = self.waiter.now();
        reset_at(&mut self.frames.schedule, &mut self.anchor, at, now);
        self.begins_now = false;
    }

    /// Returns the counts of all slots; a tick is a frame that has begun, plus one at the start.
    pub fn counts(&self) -> SlotCounts {
        SlotCounts::of(self.frames.schedule.counts())
    }

    /// Keeps [`Statistics`] of all waits from now on, as
    /// [`Waiter::keep_statistics`]: those before frames that begin late, and those at the
    /// end of the others. A frame that begins late and is not done by its slot is in
    /// [`FrameEnd`] only.
    pub fn keep_statistics(&mut self) {
        self.waiter.keep_statistics();
    }

    /// Returns statistics of the waits; empty if they are not kept.
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

    /// The next frame, what comes after it, and when its work is to begin if not at
    /// once.
    fn plan(&self) -> (Frames<Caller>, Frame, Option<Instant>) {
        let (mut frames, now) = (self.frames, self.waiter.now());
        let planned = frames.plan(self.anchor.tick(now));
        let frame = Frame {
            number: planned.slot.number,
            target: self.anchor.instant(planned.slot.at),
            missed: planned.slot.missed,
            outcome: Outcome::default(),
            begun: now,
        };
        let start = self.is_late.then(|| self.anchor.instant(planned.start));
        (frames, frame, start)
    }

    /// The wait until `start` is over, or nearly.
    fn begin_as(
        &mut self,
        frames: Frames<Caller>,
        frame: Frame,
        start: Option<Instant>,
        near: Outcome,
    ) -> Frame {
        // While there is time for it.
        self.frames = frames;
        self.waiter.missed(frame.missed);
        let frame = Frame {
            outcome: self.waiter.finish(near, start.unwrap_or(frame.target)),
            begun: self.waiter.now(),
            ..frame
        };
        self.begun = Some(frame);
        self.worked = None;
        frame
    }

    /// The frame that ends, begun now if none was, and when its work ended.
    fn worked(&mut self) -> (Frame, Instant) {
        let now = self.waiter.now();
        let frame = self.begun.unwrap_or_else(|| {
            let (frames, frame, _) = self.plan();
            self.begin_as(frames, frame, None, Outcome::default())
        });
        (frame, *self.worked.get_or_insert(now))
    }

    /// The wait until the slot is over, or nearly.
    fn end_as(&mut self, frame: Frame, worked: Instant, near: Outcome) -> FrameEnd {
        // While there is time for it.
        let work = worked.saturating_duration_since(frame.begun);
        self.frames.worked(work.into());
        (self.begun, self.worked) = (None, None);
        let outcome = self.waiter.finish(near, frame.target);
        let ended = if self.is_late {
            worked
        } else {
            self.waiter.now()
        };
        let frame_time = self
            .ended
            .map(|before| ended.saturating_duration_since(before));
        self.ended = Some(ended);
        FrameEnd {
            work,
            frame_time,
            missed: frame.missed,
            outcome,
            begin: frame.outcome,
        }
    }
}

/// A frame that has begun.
///
/// # Examples
///
/// ```
/// use punctual::{FramePacer, Period};
///
/// let mut pacer = FramePacer::late(Period::hz(500)?);
/// let frame = pacer.begin();
/// println!("frame {} is shown {:?} after its work began", frame.number(), frame.target() - frame.begun());
/// pacer.end();
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    number: u64,
    target: Instant,
    missed: u64,
    outcome: Outcome,
    begun: Instant,
}

impl Frame {
    /// Which slot it is for: 1 is the first, and missed ones count.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The slot by which it is to be done, or at which it ends: what to draw
    /// moving things for.
    pub fn target(&self) -> Instant {
        self.target
    }

    /// When its work began.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// How many slots before it have no frame.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The wait before it.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// The end of a frame.
///
/// # Examples
///
/// ```
/// use punctual::{FramePacer, Period};
///
/// let mut pacer = FramePacer::at_end(Period::hz(500)?);
/// for _ in 0..3 {
///     pacer.begin();
///     let end = pacer.end();
///     println!("{:?} of work, {:?} since the last frame", end.work(), end.frame_time());
/// }
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameEnd {
    work: Duration,
    frame_time: Option<Duration>,
    missed: u64,
    outcome: Outcome,
    begin: Outcome,
}

impl FrameEnd {
    /// How long its work took.
    pub fn work(&self) -> Duration {
        self.work
    }

    /// The time since the end of the frame before; none for the first.
    pub fn frame_time(&self) -> Option<Duration> {
        self.frame_time
    }

    /// How much later than its slot it ended; nothing if it was in time.
    pub fn lateness(&self) -> Duration {
        self.outcome.lateness()
    }

    /// By how much the waits of this frame, before and after the work, ended later than
    /// they were to; of one that had nothing to wait for, nothing.
    pub fn oversleep(&self) -> Duration {
        let waited = |outcome: &Outcome| match outcome.naps() {
            0 if outcome.spun().is_zero() => Duration::ZERO,
            _ => outcome.lateness(),
        };
        waited(&self.begin) + waited(&self.outcome)
    }

    /// How many slots before it have no frame.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
