//! Waits, what they wait with, and what ends them.

use std::ffi::c_char;
use std::mem::size_of;
use std::time::Duration;

use punctual::{Cancel, Cancelled, Outcome, Statistics, Waiter, ns};

use crate::pointer::{self, Growing, Held, Out, OutSized, shared, told, told_sized};
use crate::result::{called, punctual_result};

/// The outcome of one wait.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_outcome {
    /// `sizeof(punctual_outcome)`, set by the caller.
    pub size: usize,
    /// How long after its deadline the wait ended.
    pub lateness_ns: u64,
    /// The time in calls that sleep.
    pub slept_ns: u64,
    /// The time spent spinning, which is CPU time.
    pub spun_ns: u64,
    /// The number of calls that sleep.
    pub naps: u32,
    /// 1 if its budget limited its spinning, else 0.
    pub hit_budget: u32,
}

// SAFETY: numbers only.
unsafe impl Growing for punctual_outcome {}

impl From<Outcome> for punctual_outcome {
    fn from(outcome: Outcome) -> Self {
        Self {
            size: size_of::<Self>(),
            lateness_ns: as_ns(outcome.lateness()),
            slept_ns: as_ns(outcome.slept()),
            spun_ns: as_ns(outcome.spun()),
            naps: outcome.naps(),
            hit_budget: outcome.hit_budget().into(),
        }
    }
}

pub(crate) fn as_ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits for `length_ns`, with what this thread has learned from its earlier waits. `outcome` may
/// be null.
///
/// Any thread. On Linux also in a signal handler. If the library was loaded with `dlopen`, the
/// thread must have called this function before, outside of a handler; a call with 0 suffices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_sleep_ns(
    length_ns: u64,
    outcome: *mut punctual_outcome,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let out = unsafe { OutSized::wanted(outcome) }?;
        // Unlike a deadline that has passed, a length of 0 uses the thread's waiter. That
        // allocates the thread's storage before its signal handlers need it.
        let ended = punctual::sleep(Duration::from_nanos(length_ns));
        out.into_iter().for_each(|out| out.set(ended.into()));
        Ok(())
    })
}

/// Like `punctual_sleep_ns`, until a deadline on the clock of `punctual_now_ns`.
///
/// Any thread; on Linux also in a signal handler, as `punctual_sleep_ns`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_sleep_until_ns(
    deadline_ns: u64,
    outcome: *mut punctual_outcome,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let out = unsafe { OutSized::wanted(outcome) }?;
        let ended = punctual::sleep_until(ns::instant(deadline_ns));
        out.into_iter().for_each(|out| out.set(ended.into()));
        Ok(())
    })
}

/// The options of a waiter. Zero in all members except `size` selects the defaults.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_waiter_options {
    /// `sizeof(punctual_waiter_options)`, set by the caller.
    pub size: usize,
    /// A strategy as text, as `"adaptive:weight=100"`, `"adaptive-frugal:budget=5%"` or
    /// `"fixed-margin:margin=200us"`; null for `adaptive-balanced`.
    pub strategy: *const c_char,
    /// 1 to keep statistics, else 0.
    pub statistics: u32,
    /// 0.
    pub reserved: u32,
}

// SAFETY: numbers and a pointer.
unsafe impl Growing for punctual_waiter_options {}

/// Why there is no such waiter, as a result and in words.
struct Refused(punctual_result, String);

impl From<punctual::Error> for Refused {
    fn from(error: punctual::Error) -> Self {
        let words = error.to_string();
        Self(error.into(), words)
    }
}

impl From<punctual_result> for Refused {
    fn from(result: punctual_result) -> Self {
        Self(
            result,
            "its size, its text or what is reserved is wrong".to_owned(),
        )
    }
}

/// # Safety
/// Null, or a structure as the header says, of which the text is one.
unsafe fn try_waiter(options: *const punctual_waiter_options) -> Result<Waiter, Refused> {
    // SAFETY: the caller's obligation.
    let options = unsafe { pointer::read_sized(options) }?;
    if options.reserved != 0 {
        return Err(punctual_result::Range.into());
    }
    // SAFETY: the caller's obligation.
    let strategy = unsafe { pointer::text(options.strategy) }?;
    let mut builder = Waiter::builder();
    if let Some(strategy) = strategy {
        builder = builder.strategy(strategy.parse()?);
    }
    if options.statistics != 0 {
        builder = builder.statistics();
    }
    Ok(builder.build()?)
}

/// # Safety
/// As [`try_waiter`].
pub(crate) unsafe fn waiter(
    options: *const punctual_waiter_options,
) -> Result<Waiter, punctual_result> {
    // SAFETY: the caller's obligation.
    unsafe { try_waiter(options) }.map_err(|Refused(result, _)| result)
}

/// Waits with one strategy, and keeps what it has learned about this system. Use one for each
/// waiting thread.
pub struct punctual_waiter(Held<Waiter>);

/// Creates a waiter. `options` may be null.
///
/// `PUNCTUAL_RESULT_RANGE` for an unknown strategy or an invalid parameter,
/// `PUNCTUAL_RESULT_UNSUPPORTED` for a strategy that names a system call. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_new(
    options: *const punctual_waiter_options,
    waiter_out: *mut *mut punctual_waiter,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let out = unsafe { Out::of(waiter_out) }?;
        // SAFETY: as this header says.
        let waiter = unsafe { waiter(options) }?;
        out.give(punctual_waiter(Held::new(waiter)));
        Ok(())
    })
}

/// Returns the result that `punctual_waiter_new` would return for these options. `message` receives
/// the reason in one line, null-terminated and cut to `capacity` bytes; it is empty if there is no
/// error.
///
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_check(
    options: *const punctual_waiter_options,
    capacity: usize,
    message: *mut c_char,
) -> punctual_result {
    called(|| {
        if message.is_null() {
            return Err(punctual_result::Null);
        }
        // SAFETY: as this header says.
        let checked = unsafe { try_waiter(options) };
        let words = match &checked {
            Ok(_) => "",
            Err(Refused(_, why)) => why,
        };
        let Some(room) = capacity.checked_sub(1) else {
            return Err(punctual_result::Range);
        };
        let words = cut(words, room);
        // SAFETY: as this header says, so many bytes are there.
        unsafe {
            message.copy_from_nonoverlapping(words.as_ptr().cast(), words.len());
            message.add(words.len()).write(0);
        }
        checked.map(drop).map_err(|Refused(result, _)| result)
    })
}

/// The beginning of a text, of at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let ends = (0..=most.min(text.len())).rev();
    let end = ends.into_iter().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Frees a waiter; null is ignored. Any thread, once it is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_free(waiter: *mut punctual_waiter) {
    // SAFETY: as this header says.
    unsafe { pointer::free(waiter) }
}

/// Waits for `length_ns` from now. `outcome` may be null.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_sleep_ns(
    waiter: *mut punctual_waiter,
    length_ns: u64,
    outcome: *mut punctual_outcome,
) -> punctual_result {
    let deadline_ns = ns::now().saturating_add(length_ns);
    // SAFETY: as this header says.
    unsafe { punctual_waiter_sleep_until_ns(waiter, deadline_ns, std::ptr::null(), outcome) }
}

/// Waits until a deadline, or until another thread ends the wait with `cancel`. `cancel` and
/// `outcome` may be null.
///
/// `PUNCTUAL_RESULT_CANCELLED` also if it was cancelled before, even if the deadline has passed, so
/// that a loop that is always late can be stopped. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_sleep_until_ns(
    waiter: *mut punctual_waiter,
    deadline_ns: u64,
    cancel: *const punctual_cancel,
    outcome: *mut punctual_outcome,
) -> punctual_result {
    let deadline = ns::instant(deadline_ns);
    let until = |waiter: &punctual_waiter, cancel: Option<&Cancel>| {
        let mut waiter = waiter.0.hold()?;
        Ok(match cancel {
            Some(cancel) => waiter.sleep_until_or(deadline, cancel)?,
            None => waiter.sleep_until(deadline),
        })
    };
    // SAFETY: as this header says.
    unsafe { wait(waiter, cancel, outcome, until) }
}

/// Waits until a deadline, or until a signal was handled while the thread slept:
/// `PUNCTUAL_RESULT_INTERRUPTED`, sometimes without any signal. Call it again to continue the wait.
///
/// A signal that comes while the thread spins does not end the wait. Windows has no signals; there
/// the wait is interrupted once a second. On FreeBSD no signal ends it. `outcome` may be null. One
/// thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_sleep_until_interruptible_ns(
    waiter: *mut punctual_waiter,
    deadline_ns: u64,
    outcome: *mut punctual_outcome,
) -> punctual_result {
    let deadline = ns::instant(deadline_ns);
    let until = |waiter: &punctual_waiter, _: Option<&Cancel>| {
        let ended = waiter.0.hold()?.sleep_until_interruptible(deadline);
        ended.map_err(|_| punctual_result::Interrupted)
    };
    // SAFETY: as this header says.
    unsafe { wait(waiter, std::ptr::null(), outcome, until) }
}

/// A wait with a handle, and what became of it, if that is wanted.
///
/// # Safety
/// As the header says of all three pointers.
pub(crate) unsafe fn wait<H, T: Growing, O: Into<T>>(
    handle: *const H,
    cancel: *const punctual_cancel,
    place: *mut T,
    wait: impl FnOnce(&H, Option<&Cancel>) -> Result<O, punctual_result>,
) -> punctual_result {
    called(|| {
        // SAFETY: the caller's obligation.
        let (handle, out) = unsafe { (shared(handle)?, OutSized::wanted(place)?) };
        // SAFETY: the caller's obligation.
        let cancel = unsafe { cancel.as_ref() };
        let ended = wait(handle, cancel.map(|cancel| &cancel.0))?;
        if let Some(out) = out {
            out.set(ended.into());
        }
        Ok(())
    })
}

/// Sleeps until shortly before a deadline and never spins. `left_ns` receives the time that is left
/// until the deadline; 0 if it has passed.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_coarse_until_ns(
    waiter: *mut punctual_waiter,
    deadline_ns: u64,
    left_ns: *mut u64,
) -> punctual_result {
    let sleep = |waiter: &punctual_waiter| {
        let left = waiter.0.hold()?.coarse_until(ns::instant(deadline_ns));
        Ok(as_ns(left))
    };
    // SAFETY: as this header says.
    unsafe { told(waiter, left_ns, sleep) }
}

/// Statistics of many waits.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_statistics {
    /// `sizeof(punctual_statistics)`, set by the caller.
    pub size: usize,
    /// Waits that reached their deadline.
    pub waits: u64,
    /// Waits whose deadline had passed when they began.
    pub already_late: u64,
    /// Slots without a wait.
    pub missed: u64,
    /// The number of calls that sleep.
    pub naps: u64,
    /// The time in calls that sleep.
    pub slept_ns: u64,
    /// The time spent spinning.
    pub spun_ns: u64,
    /// Waits whose budget limited their spinning.
    pub budget_hits: u64,
    /// The mean lateness.
    pub mean_ns: u64,
    /// The median lateness, at most an eighth too high, like the next three; 0 without waits.
    pub p50_ns: u64,
    /// The lateness that 90 % of the waits do not exceed.
    pub p90_ns: u64,
    /// The lateness that 99 % of the waits do not exceed.
    pub p99_ns: u64,
    /// The lateness that 99.9 % of the waits do not exceed.
    pub p999_ns: u64,
    /// The largest lateness.
    pub max_ns: u64,
}

// SAFETY: numbers only.
unsafe impl Growing for punctual_statistics {}

impl From<Statistics> for punctual_statistics {
    fn from(seen: Statistics) -> Self {
        let quantile = |q| seen.lateness_quantile(q).map_or(0, as_ns);
        Self {
            size: size_of::<Self>(),
            waits: seen.waits(),
            already_late: seen.already_late(),
            missed: seen.missed(),
            naps: seen.naps(),
            slept_ns: as_ns(seen.slept()),
            spun_ns: as_ns(seen.spun()),
            budget_hits: seen.budget_hits(),
            mean_ns: as_ns(seen.mean_lateness()),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: as_ns(seen.max_lateness()),
        }
    }
}

/// Returns the statistics of its waits; all zero unless its options keep statistics.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_waiter_statistics(
    waiter: *const punctual_waiter,
    statistics: *mut punctual_statistics,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told_sized(waiter, statistics, |waiter| {
            Ok(waiter.0.hold()?.statistics().into())
        })
    }
}

/// Ends waits early. Any thread may end the waits of any other thread. It can be reset and used
/// again.
pub struct punctual_cancel(pub(crate) Cancel);

impl From<Cancelled> for punctual_result {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Creates a handle that is not cancelled.
///
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_cancel_new(
    cancel_out: *mut *mut punctual_cancel,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        unsafe { Out::of(cancel_out) }?.give(punctual_cancel(Cancel::new()));
        Ok(())
    })
}

/// Frees the handle; null is ignored. Any thread, once no wait uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_cancel_free(cancel: *mut punctual_cancel) {
    // SAFETY: as this header says.
    unsafe { pointer::free(cancel) }
}

/// Ends all waits that use the handle, also those that begin later, until it is reset.
///
/// Any number of threads at once; on Linux and Windows also in a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_cancel_now(cancel: *const punctual_cancel) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        unsafe { shared(cancel) }?.0.cancel();
        Ok(())
    })
}

/// Makes the handle not cancelled again.
///
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_cancel_reset(cancel: *const punctual_cancel) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        unsafe { shared(cancel) }?.0.reset();
        Ok(())
    })
}

/// Returns whether the handle is cancelled: 1 or 0.
///
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_cancel_is_cancelled(
    cancel: *const punctual_cancel,
    is_cancelled: *mut u32,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told(cancel, is_cancelled, |cancel| {
            Ok(cancel.0.is_cancelled().into())
        })
    }
}
