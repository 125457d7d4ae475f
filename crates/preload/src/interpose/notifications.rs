//! Notifications of condition variables, for waits that spin.
//!
//! A wait that spins has released its mutex, as a blocked one has. The real functions do not know of such a wait: a
//! `pthread_cond_signal` would not end it. Therefore each notification of this process leaves a note, and is then given to the
//! real function as well. POSIX allows that it ends more waits than one.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libc::{c_int, pthread_cond_t, pthread_mutex_t};

use super::on_time;

/// The last notification of the condition variables of each place: the address of one, and a count.
static NOTES: [AtomicU64; 1 << PLACE_BITS] = [const { AtomicU64::new(0) }; 1 << PLACE_BITS];
const PLACE_BITS: u32 = 10;

/// The lower bits of a note are its count. Addresses of programs have at most 48 bits.
const COUNT_BITS: u32 = 16;

fn place(condition: *const pthread_cond_t) -> &'static AtomicU64 {
    // The upper bits of the product depend on all bits of the address.
    let mixed = (condition as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    &NOTES[(mixed >> (u64::BITS - PLACE_BITS)) as usize]
}

/// A condition variable is about to be notified.
#[inline]
pub(super) fn note(condition: *const pthread_cond_t) {
    if on_time::takes_part() {
        let place = place(condition);
        let count = place.load(Relaxed) as u16;
        let count = u64::from(count.wrapping_add(1));
        place.store((condition as u64) << COUNT_BITS | count, Release);
    }
}

/// A condition variable and its mutex. Only threads of this process notify it.
#[derive(Clone, Copy)]
pub(super) struct Condition {
    condition: *const pthread_cond_t,
    mutex: *mut pthread_mutex_t,
}

impl Condition {
    /// `None` for a condition variable that other processes may notify.
    ///
    /// # Safety
    /// The condition variable is one.
    pub(super) unsafe fn new(
        condition: *const pthread_cond_t,
        mutex: *mut pthread_mutex_t,
    ) -> Option<Self> {
        /// Where glibc since 2.25 counts the waits of a condition variable; the lowest bit says that processes share it.
        /// Before 2.25 there is half of an address, which can only pass for shared.
        const WAITS: usize = 9;
        // SAFETY: other threads change these bytes atomically, except for the bit.
        let waits = unsafe { condition.cast::<u32>().add(WAITS).read_volatile() };
        (waits & 1 == 0).then_some(Self { condition, mutex })
    }

    /// Releases the mutex, which this thread holds, while `spin` spins until its end or a notification. Returns whether there
    /// was a notification, or the error of the mutex.
    ///
    /// A thread that notifies without the mutex can do so just before `spin` begins. The wait then ends by its timer.
    ///
    /// # Safety
    /// The mutex is one.
    pub(super) unsafe fn released(
        self,
        spin: impl FnOnce(&dyn Fn() -> bool),
    ) -> Result<bool, c_int> {
        let place = place(self.condition);
        let before = place.load(Acquire);
        let is_notified = || {
            let last = place.load(Acquire);
            // Another condition variable can have the same place.
            last != before && last >> COUNT_BITS == self.condition as u64
        };
        let done = |error| match error {
            0 => Ok(()),
            error => Err(error),
        };
        // SAFETY: as this function requires.
        done(unsafe { libc::pthread_mutex_unlock(self.mutex) })?;
        spin(&is_notified);
        // SAFETY: as above.
        done(unsafe { libc::pthread_mutex_lock(self.mutex) })?;
        Ok(is_notified())
    }
}
