//! Slots at an exact rate: ticks, paced calls, batches of them.

use std::mem::size_of;
use std::time::Duration;

use punctual::{Cancel, MissedTickBehavior, Pacer, Period, Tick, ns};

use crate::pointer::{self, Growing, Held, Out, OutSized, read_sized, shared, told, told_sized};
use crate::result::{called, punctual_result};
use crate::waiter::{
    as_ns, punctual_cancel, punctual_statistics, punctual_waiter_options, wait, waiter,
};

/// The exact time from one slot to the next: `cycles` slots in `seconds` seconds.
///
/// `{ 60, 1 }` is 60 Hz, `{ 60000, 1001 }` is the 59.94 Hz of video, and `{ 1000000000, n }` is
/// every n nanoseconds. From 1 ns to 100 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct punctual_period {
    /// The number of slots in `seconds` seconds.
    pub cycles: u64,
    /// The time that these slots take, in seconds.
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

/// Returns the period of a rate, to the millionth of a hertz.
///
/// `PUNCTUAL_RESULT_RANGE` for NaN, below a millionth of a hertz, and above 1 GHz. Any thread.
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

/// The treatment of slots that have passed when a tick comes late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum punctual_missed {
    /// They are skipped and counted as missed. The next tick is for the next slot, in phase with
    /// those before.
    Skip = 0,
    /// They are owed: their ticks follow at once.
    Burst = 1,
    /// As `PUNCTUAL_MISSED_BURST`, but at most the `burst` youngest are owed; older ones are
    /// missed.
    BurstOf = 2,
    /// If a tick is late by a period or more, the schedule restarts: the next tick comes one period
    /// after it.
    Delay = 3,
}

/// The options of a ticker. Zero in all members except `size` selects the defaults.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_ticker_options {
    /// `sizeof(punctual_ticker_options)`, set by the caller.
    pub size: usize,
    /// The options of its waits; null for the defaults.
    pub waiter: *const punctual_waiter_options,
    /// The instant of its first slot, on the clock of `punctual_now_ns`; 0 for now.
    pub start_ns: u64,
    /// The largest number of owed slots, with `PUNCTUAL_MISSED_BURST_OF`.
    pub burst: u64,
    /// If not 0, the gaps are random and on average one period long (Poisson), like the requests of
    /// many users. The same seed gives the same gaps.
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

/// One tick.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_tick {
    /// `sizeof(punctual_tick)`, set by the caller.
    pub size: usize,
    /// The number of the slot: 0 is the first, and missed slots count.
    pub number: u64,
    /// The instant at which it was due.
    pub scheduled_ns: u64,
    /// The instant at which it came; never before `scheduled_ns`.
    pub actual_ns: u64,
    /// The number of slots that were missed since the tick before, including those that this tick
    /// was too late for.
    pub missed: u64,
    /// The time in calls that sleep.
    pub slept_ns: u64,
    /// The time spent spinning.
    pub spun_ns: u64,
    /// The number of calls that sleep.
    pub naps: u32,
    /// 1 if its budget limited its spinning, else 0.
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

/// Ticks at an exact rate that never drifts, one slot at a time or in batches.
///
/// A slot is the instant at which a tick is due. A tick whose slot has passed comes at once; later
/// slots do not move.
pub struct punctual_ticker(Held<Pacer>);

/// Creates a ticker. `options` may be null.
///
/// `PUNCTUAL_RESULT_RANGE` for an invalid period or option. Any thread.
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

/// Waits for the next slot; returns at once if it has passed. `cancel` and `tick` may be null.
///
/// `PUNCTUAL_RESULT_CANCELLED` also if it was cancelled before; the slot still gets its tick later.
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

/// Returns the tick of the next slot if it has passed, without waiting. `is_due` is 1 in that case,
/// else 0. `tick` may be null, and is written only if `is_due` is 1.
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
/// one to `most`. Several calls in one batch need fewer waits. `scheduled_ns` must have room for
/// `most` instants and receives those of the slots; `taken` receives their number. `cancel` may be
/// null.
///
/// Slots that fall due during the linger are taken with every `punctual_missed`, or come with the
/// next batch if they are more than `most`. A call that comes after the linger still receives the
/// slots that were due by its end. The `punctual_missed` applies to later slots.
///
/// `PUNCTUAL_RESULT_RANGE` if `most` is 0. If it is cancelled, no slot is taken. One thread at a
/// time.
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

/// Returns the instant of the next slot, for a program that waits for it by other means.
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

/// Returns the period in lowest terms: `{ 60, 1 }` for `{ 120, 2 }`.
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

/// Changes the period, in phase with the last slot that was due. Of the owed slots only the last
/// stays owed; the others are missed.
///
/// `PUNCTUAL_RESULT_RANGE` for an invalid period. One thread at a time.
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

/// Moves all future slots by `by_ns`, later if it is positive. This follows an external clock, such
/// as that of a display or a sound card.
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

/// Restarts the schedule: the next slot is at `at_ns`.
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
    /// Slots that were due by the last call.
    pub due: u64,
    /// Slots that had a tick.
    pub ticks: u64,
    /// Slots that never get a tick.
    pub missed: u64,
    /// Slots that have passed and will still get a tick.
    pub owed: u64,
    /// The number of restarts and moves of the schedule.
    pub shifts: u64,
    /// By how much those moved the next slot, in all; negative is earlier.
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

/// Returns the counts of all slots so far.
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

/// Returns the statistics of its waits; all zero unless the options of its waiter keep statistics.
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
