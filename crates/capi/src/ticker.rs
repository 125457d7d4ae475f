//! Slots at an exact rate: ticks, paced calls, batches of them.

use std::mem::size_of;
use std::time::Duration;

use punctual::{Cancel, MissedTickBehavior, Pacer, Period, Tick, ns};

use crate::pointer::{self, Growing, Held, Out, OutSized, read_sized, shared, told, told_sized};
use crate::result::{called, punctual_result};
use crate::waiter::{
    as_ns, punctual_cancel, punctual_statistics, punctual_waiter_options, wait, waiter,
};

/// The time from one slot to the next, exactly: `cycles` of them in so many `seconds`.
///
/// `{ 60, 1 }` is 60 Hz, `{ 60000, 1001 }` is 59.94 Hz as video has it, and
/// `{ 1000000000, n }` is every n nanoseconds. From 1 ns to 100 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct punctual_period {
    /// The number of slots.
    pub cycles: u64,
    /// In so many seconds.
    pub seconds: u64,
}

impl punctual_period {
    pub(crate) fn period(self) -> Result<Period, punctual_result> {
        Ok(Period::hz_ratio(self.cycles, self.seconds)?)
    }
}

impl From<Period> for punctual_period {
    fn from(period: Period) -> Self {
        let (cycles, seconds) = period.cycles_in_seconds();
        Self { cycles, seconds }
    }
}

/// The period of a rate, to the millionth of a hertz.
///
/// `PUNCTUAL_RESULT_RANGE` for what is no number, below a millionth of a hertz, and above 1 GHz. Any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_period_hz(
    hz: f64,
    period: *mut punctual_period,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let out = unsafe { Out::of(period) }?;
        out.set(Period::hz_f64(hz)?.into());
        Ok(())
    })
}

/// How a late tick treats missed slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum punctual_missed {
    /// They are missed: the next tick is for the first slot to come, in phase with those
    /// before.
    Skip = 0,
    /// They are owed: the next ticks come at once.
    Burst = 1,
    /// As `PUNCTUAL_MISSED_BURST`, but at most `burst` are owed; older ones are missed.
    BurstOf = 2,
    /// A tick that is a period or more late starts anew: the next comes a period after it.
    Delay = 3,
}

/// How a ticker ticks. Zeroes except for `size` are the default.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_ticker_options {
    /// `sizeof(punctual_ticker_options)`, set by the caller.
    pub size: usize,
    /// How it waits; null for the default.
    pub waiter: *const punctual_waiter_options,
    /// When its first slot is due, on the clock of `punctual_now_ns`; 0 for now.
    pub start_ns: u64,
    /// How many are owed at most with `PUNCTUAL_MISSED_BURST_OF`.
    pub burst: u64,
    /// If not 0: the gaps are random, on average a period, as the requests of many users
    /// (Poisson). The same seed has the same gaps.
    pub poisson_seed: u64,
    /// A `punctual_missed`.
    pub missed: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: numbers and a pointer.
unsafe impl Growing for punctual_ticker_options {}

impl punctual_ticker_options {
    fn behavior(&self) -> Result<MissedTickBehavior, punctual_result> {
        use MissedTickBehavior::{Burst, BurstOf, Delay, Skip};
        // In the order of `punctual_missed`.
        let all = [Skip, Burst, BurstOf(self.burst), Delay];
        let chosen = all.get(self.missed as usize);
        chosen.copied().ok_or(punctual_result::Range)
    }
}

/// A tick: one slot that was waited for.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_tick {
    /// `sizeof(punctual_tick)`, set by the caller.
    pub size: usize,
    /// Which slot it is: missed ones count too.
    pub number: u64,
    /// When it was due.
    pub scheduled_ns: u64,
    /// When it came: never before.
    pub actual_ns: u64,
    /// How many slots were missed since the tick before, and because of this one.
    pub missed: u64,
    /// The time in calls that sleep.
    pub slept_ns: u64,
    /// The time spent spinning.
    pub spun_ns: u64,
    /// How often the thread slept.
    pub naps: u32,
    /// 1 if it would have spun more, had its budget let it.
    pub hit_budget: u32,
}

// SAFETY: numbers only.
unsafe impl Growing for punctual_tick {}

impl From<Tick> for punctual_tick {
    fn from(tick: Tick) -> Self {
        let outcome = tick.outcome();
        Self {
            size: size_of::<Self>(),
            number: tick.number(),
            scheduled_ns: ns::of(tick.scheduled()),
            actual_ns: ns::of(tick.actual()),
            missed: tick.missed(),
            slept_ns: as_ns(outcome.slept()),
            spun_ns: as_ns(outcome.spun()),
            naps: outcome.naps(),
            hit_budget: outcome.hit_budget().into(),
        }
    }
}

/// Ticks at an exact rate, in phase for ever; paces calls, one by one or in batches.
///
/// A tick whose slot has passed comes at once, and does not move those after it.
pub struct punctual_ticker(Held<Pacer>);

/// Makes a ticker. `options` may be null.
///
/// `PUNCTUAL_RESULT_RANGE` for a period or an option that is none. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_new(
    period: punctual_period,
    options: *const punctual_ticker_options,
    ticker_out: *mut *mut punctual_ticker,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let out = unsafe { Out::of(ticker_out) }?;
        // SAFETY: as this header says.
        let options = unsafe { read_sized(options) }?;
        if options.reserved != 0 {
            return Err(punctual_result::Range);
        }
        let period = period.period()?;
        let pacer = match options.start_ns {
            0 => Pacer::new(period),
            start => Pacer::starting_at(ns::instant(start), period),
        };
        let mut pacer = pacer.with_missed_tick_behavior(options.behavior()?);
        if !options.waiter.is_null() {
            // SAFETY: as this header says.
            pacer = pacer.waiter(unsafe { waiter(options.waiter) }?);
        }
        if options.poisson_seed != 0 {
            pacer = pacer.poisson(options.poisson_seed);
        }
        out.give(punctual_ticker(Held::new(pacer)));
        Ok(())
    })
}

/// Frees a ticker; null is ignored. Any thread, once it is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_free(ticker: *mut punctual_ticker) {
    // SAFETY: as this header says.
    unsafe { pointer::free(ticker) }
}

/// Waits for the next slot; returns at once if it has passed. `cancel` may be null, and `tick`.
///
/// `PUNCTUAL_RESULT_CANCELLED` also if it was cancelled before; the slot is still to be ticked then.
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_tick(
    ticker: *mut punctual_ticker,
    cancel: *const punctual_cancel,
    tick: *mut punctual_tick,
) -> punctual_result {
    let next = |ticker: &punctual_ticker, cancel: Option<&Cancel>| {
        let mut pacer = ticker.0.hold()?;
        Ok(match cancel {
            Some(cancel) => pacer.next_slot_or(cancel)?,
            None => pacer.next_slot(),
        })
    };
    // SAFETY: as this header says.
    unsafe { wait(ticker, cancel, tick, next) }
}

/// The next slot if it has passed, without waiting: `is_due` is 1 then, else 0. `tick` may be null,
/// and is written only if it is due.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_try_tick(
    ticker: *mut punctual_ticker,
    is_due: *mut u32,
    tick: *mut punctual_tick,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let (ticker, due) = unsafe { (shared(ticker)?, Out::of(is_due)?) };
        // SAFETY: as this header says.
        let out = unsafe { OutSized::wanted(tick) }?;
        let ticked = ticker.0.hold()?.try_next_slot();
        due.set(ticked.is_some().into());
        if let (Some(out), Some(ticked)) = (out, ticked) {
            out.set(ticked.into());
        }
        Ok(())
    })
}

/// Waits until `linger_ns` after the next slot is due, and takes all slots that are due then, from
/// one to `most`. That makes fewer waits where several calls can be made at once. `scheduled_ns`
/// has room for `most` instants, and gets those of the slots; `taken` gets their number. `cancel`
/// may be null.
///
/// With every `punctual_missed` the slots that fell due during the linger are taken, or come with
/// the next batch where they are more than `most`. A call that comes after the linger still gets
/// the slots that were due by its end; the `punctual_missed` applies to later ones.
///
/// `PUNCTUAL_RESULT_RANGE` for a `most` of 0. Cancelled, no slot is taken. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_next_batch(
    ticker: *mut punctual_ticker,
    most: u32,
    linger_ns: u64,
    cancel: *const punctual_cancel,
    scheduled_ns: *mut u64,
    taken: *mut u32,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let (ticker, out) = unsafe { (shared(ticker)?, Out::of(taken)?) };
        if scheduled_ns.is_null() {
            return Err(punctual_result::Null);
        }
        if most == 0 {
            return Err(punctual_result::Range);
        }
        // SAFETY: as this header says.
        let cancel = unsafe { cancel.as_ref() };
        let linger = Duration::from_nanos(linger_ns);
        let mut pacer = ticker.0.hold()?;
        let batch = match cancel {
            Some(cancel) => pacer.next_batch_or(most, linger, &cancel.0)?,
            None => pacer.next_batch(most, linger),
        };
        let mut count = 0;
        for (at, tick) in (0..most).zip(batch) {
            // SAFETY: as this header says, there is room for `most`.
            unsafe {
                scheduled_ns
                    .add(at as usize)
                    .write(ns::of(tick.scheduled()))
            };
            count = at + 1;
        }
        out.set(count);
        Ok(())
    })
}

/// When the next slot is due, to wait for it with something else.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_next_ns(
    ticker: *const punctual_ticker,
    next_ns: *mut u64,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told(ticker, next_ns, |ticker| {
            Ok(ns::of(ticker.0.hold()?.next_at()))
        })
    }
}

/// The period, in lowest terms: `{ 120, 2 }` is `{ 60, 1 }`.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_period(
    ticker: *const punctual_ticker,
    period: *mut punctual_period,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told(ticker, period, |ticker| {
            Ok(ticker.0.hold()?.period().into())
        })
    }
}

/// Changes the period, in phase with the last slot that was due; slots that are owed but the last
/// are missed.
///
/// `PUNCTUAL_RESULT_RANGE` for a period that is none. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_set_period(
    ticker: *mut punctual_ticker,
    period: punctual_period,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let ticker = unsafe { shared(ticker) }?;
        let period = period.period()?;
        ticker.0.hold()?.set_period(period);
        Ok(())
    })
}

/// Moves all slots to come, later if it is positive: to follow an outer clock, as of a display or
/// a sound card.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_nudge_ns(
    ticker: *mut punctual_ticker,
    by_ns: i64,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        unsafe { shared(ticker) }?.0.hold()?.nudge(by_ns);
        Ok(())
    })
}

/// Begins anew: the next slot is at `at_ns`.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_reset_at_ns(
    ticker: *mut punctual_ticker,
    at_ns: u64,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        unsafe { shared(ticker) }?
            .0
            .hold()?
            .reset_at(ns::instant(at_ns));
        Ok(())
    })
}

/// The counts of all slots: `due` is the sum of `ticks`, `missed` and `owed`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_slot_counts {
    /// `sizeof(punctual_slot_counts)`, set by the caller.
    pub size: usize,
    /// Slots that were due when the ticker was last looked at.
    pub due: u64,
    /// Slots that were ticked.
    pub ticks: u64,
    /// Slots that were given up.
    pub missed: u64,
    /// Slots that are still to be ticked.
    pub owed: u64,
    /// How often it began anew or was moved.
    pub shifts: u64,
    /// By how much that moved the next slot, in all; negative is earlier.
    pub shift_ns: i64,
}

// SAFETY: numbers only.
unsafe impl Growing for punctual_slot_counts {}

impl From<punctual::SlotCounts> for punctual_slot_counts {
    fn from(counts: punctual::SlotCounts) -> Self {
        Self {
            size: size_of::<Self>(),
            due: counts.due,
            ticks: counts.ticks,
            missed: counts.missed,
            owed: counts.owed,
            shifts: counts.shifts,
            shift_ns: counts.shift_ns,
        }
    }
}

/// The counts of all slots so far.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_counts(
    ticker: *const punctual_ticker,
    counts: *mut punctual_slot_counts,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told_sized(ticker, counts, |ticker| {
            Ok(ticker.0.hold()?.counts().into())
        })
    }
}

/// Statistics of its waits; zeroes unless the options of its waiter keep statistics.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_ticker_statistics(
    ticker: *const punctual_ticker,
    statistics: *mut punctual_statistics,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told_sized(ticker, statistics, |ticker| {
            Ok(ticker.0.hold()?.statistics().into())
        })
    }
}
