//! The slots of a rate: what happens to missed ones, and how many there were.

use punctual_core::schedule;

/// How a late tick treats missed slots.
///
/// # Examples
///
/// ```
/// use punctual::{MissedTickBehavior, Period, interval};
///
/// let behavior = MissedTickBehavior::BurstOf(3);
/// let ticker = interval(Period::hz(100)?).with_missed_tick_behavior(behavior);
/// assert_eq!(ticker.missed_tick_behavior(), behavior);
/// # Ok::<(), punctual::Error>(())
/// ```
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

impl MissedTickBehavior {
    pub(crate) fn core(self) -> schedule::MissedTickBehavior {
        match self {
            Self::Burst => schedule::MissedTickBehavior::Burst,
            Self::BurstOf(most) => schedule::MissedTickBehavior::BurstOf(most),
            Self::Delay => schedule::MissedTickBehavior::Delay,
            Self::Skip => schedule::MissedTickBehavior::Skip,
        }
    }

    pub(crate) fn of(core: schedule::MissedTickBehavior) -> Self {
        match core {
            schedule::MissedTickBehavior::Burst => Self::Burst,
            schedule::MissedTickBehavior::BurstOf(most) => Self::BurstOf(most),
            schedule::MissedTickBehavior::Delay => Self::Delay,
            _ => Self::Skip,
        }
    }
}

/// The counts of all slots so far. Each due slot is ticked, missed or owed.
///
/// # Examples
///
/// ```
/// use punctual::{Period, interval};
///
/// let mut ticker = interval(Period::hz(1_000)?);
/// ticker.tick();
/// let counts = ticker.counts();
/// assert_eq!(counts.ticks, 1);
/// assert_eq!(counts.due, counts.ticks + counts.missed + counts.owed);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotCounts {
    /// The slots that were due at the last tick or change. A slot that was ticked before its
    /// time is one of them.
    pub due: u64,
    /// The slots that had a tick.
    pub ticks: u64,
    /// The slots that never get a tick.
    pub missed: u64,
    /// The slots that were due and still get a tick.
    pub owed: u64,
    /// How often the schedule moved: by a late tick under
    /// [`Delay`](MissedTickBehavior::Delay), a nudge, a change of rate, or a reset.
    pub shifts: u64,
    /// How far these moved the next slot in all, in ns; less than zero if earlier.
    pub shift_ns: i64,
}

impl SlotCounts {
    #[inline]
    pub(crate) fn of(core: schedule::SlotCounts) -> Self {
        Self {
            due: core.due,
            ticks: core.ticks,
            missed: core.missed,
            owed: core.owed,
            shifts: core.shifts,
            shift_ns: core.shift_ns,
        }
    }
}
