//! Many timers without a thread: a program with a loop asks when to wake, and serves the timers
//! that are due.

use std::ffi::c_void;
use std::mem::size_of;
use std::time::Duration;

use punctual_timers::{Key, Time, TimerQueue, Window};

use crate::pointer::{self, Growing, Held, Out, shared, told, told_sized};
use crate::result::{called, punctual_result};

/// The function that a timer calls when it is due. Its arguments are the `user` pointer and the key
/// of the timer and the earliest instant of its window. It may insert and cancel timers of the same
/// queue. It must not throw or call `longjmp`.
pub type punctual_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, key: u64, earliest_ns: u64)>;

struct Call {
    function: unsafe extern "C" fn(*mut c_void, u64, u64),
    user: *mut c_void,
}

// SAFETY: a queue may go to another thread, and is called there: the header says so.
unsafe impl Send for Call {}

/// The timers of one event loop.
pub struct punctual_queue(Held<TimerQueue<Call>>);

/// Creates a queue without timers.
///
/// Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_queue_new(
    queue_out: *mut *mut punctual_queue,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let out = unsafe { Out::of(queue_out) }?;
        out.give(punctual_queue(Held::new(TimerQueue::new())));
        Ok(())
    })
}

/// Frees a queue without calling its timers; null is ignored. Any thread, once it is no longer in
/// use or being advanced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_queue_free(queue: *mut punctual_queue) {
    // SAFETY: as this header says.
    unsafe { pointer::free(queue) }
}

/// Adds a timer that may be called from `earliest_ns` on, at most `tolerance_ns` later. Timers
/// whose windows overlap share a wake-up. The caller chooses the epoch of these instants. `key`
/// receives the key to cancel the timer with. `key` and `user` may be null.
///
/// One thread at a time; callbacks of the queue too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_queue_insert(
    queue: *mut punctual_queue,
    earliest_ns: u64,
    tolerance_ns: u64,
    callback: punctual_callback,
    user: *mut c_void,
    key: *mut u64,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let queue = unsafe { shared(queue) }?;
        let function = callback.ok_or(punctual_result::Null)?;
        let window = Window::after(
            Time::from_ns(earliest_ns),
            Duration::from_nanos(tolerance_ns),
        );
        let inserted = queue.0.hold()?.insert(window, Call { function, user });
        if !key.is_null() {
            // SAFETY: as this header says.
            unsafe { key.write(inserted.to_bits()) };
        }
        Ok(())
    })
}

/// Cancels a timer. `was_waiting` is 1 if the timer will not be called, and 0 if it was called or
/// cancelled before.
///
/// One thread at a time; callbacks of the queue too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_queue_cancel(
    queue: *mut punctual_queue,
    key: u64,
    was_waiting: *mut u32,
) -> punctual_result {
    let cancel = |queue: &punctual_queue| {
        let cancelled = queue.0.hold()?.cancel(Key::from_bits(key));
        Ok(cancelled.is_some().into())
    };
    // SAFETY: as this header says.
    unsafe { told(queue, was_waiting, cancel) }
}

/// Returns the instant at which to call `punctual_queue_advance` next, possibly in the past;
/// `UINT64_MAX` without timers.
///
/// One thread at a time; callbacks of the queue too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_queue_next_wake(
    queue: *const punctual_queue,
    wake_ns: *mut u64,
) -> punctual_result {
    let wake =
        |queue: &punctual_queue| Ok(queue.0.hold()?.next_wake().map_or(u64::MAX, Time::as_ns));
    // SAFETY: as this header says.
    unsafe { told(queue, wake_ns, wake) }
}

/// Calls all timers whose window has opened by `now_ns`, in the order in which they opened.
/// `served` receives their number and may be null. If a callback inserts a timer for the past, that
/// timer is called too, before this function returns.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_queue_advance(
    queue: *mut punctual_queue,
    now_ns: u64,
    served: *mut u64,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let queue = unsafe { shared(queue) }?;
        let mut count = 0;
        loop {
            // Given back before the call, which may want the queue.
            let fired = queue.0.hold()?.pop(Time::from_ns(now_ns));
            let Some(fired) = fired else { break };
            let Call { function, user } = fired.value;
            let earliest = fired.window.earliest().as_ns();
            // SAFETY: the function, and what it is called with, are what the caller gave.
            unsafe { function(user, fired.key.to_bits(), earliest) };
            count += 1;
        }
        if !served.is_null() {
            // SAFETY: as this header says.
            unsafe { served.write(count) };
        }
        Ok(())
    })
}

/// The number of wake-ups of a queue.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_wakeup_counts {
    /// `sizeof(punctual_wakeup_counts)`, set by the caller.
    pub size: usize,
    /// Timers that are waiting.
    pub waiting: u64,
    /// Timers that have been called.
    pub served: u64,
    /// Wake-ups that this queue asked for.
    pub wakes: u64,
    /// The fewest wake-ups that could have served the same timers, each within its window.
    pub fewest: u64,
}

// SAFETY: numbers only.
unsafe impl Growing for punctual_wakeup_counts {}

/// Returns the number of wake-ups of the queue so far, and the fewest possible.
///
/// One thread at a time; callbacks of the queue too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_queue_counts(
    queue: *const punctual_queue,
    counts: *mut punctual_wakeup_counts,
) -> punctual_result {
    let counted = |queue: &punctual_queue| {
        let queue = queue.0.hold()?;
        let counts = queue.counts();
        Ok(punctual_wakeup_counts {
            size: size_of::<punctual_wakeup_counts>(),
            waiting: queue.len() as u64,
            served: counts.served,
            wakes: counts.wakes,
            fewest: counts.fewest,
        })
    };
    // SAFETY: as this header says.
    unsafe { told_sized(queue, counts, counted) }
}
