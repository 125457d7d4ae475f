//! The native part of `punctual_time`; what it means for Python stands in `_native.pyi`.

mod guard;
mod queue;
mod rate;
mod wait;

use pyo3::exceptions::{PyOSError, PyPermissionError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

#[pymodule]
#[pyo3(name = "_native")]
mod native {
    #[pymodule_export]
    use super::guard::Guard;
    #[cfg(unix)]
    #[pymodule_export]
    use super::queue::Mailbox;
    #[pymodule_export]
    use super::queue::{TimerQueue, TimerThread};
    #[pymodule_export]
    use super::rate::{Rate, SlotCounts, Tick};
    #[pymodule_export]
    use super::wait::{
        Cancel, Cancelled, Outcome, Statistics, Waiter, begin_ns, end_ns, loop_ns, now_ns, show_on,
    };
}

/// An error of the library as Python has it.
fn raised(error: punctual::Error) -> PyErr {
    let why = error.to_string();
    if error.is_range() {
        PyValueError::new_err(why)
    } else if error.is_unsupported() {
        pyo3::exceptions::PyNotImplementedError::new_err(why)
    } else if error.is_permission() {
        PyPermissionError::new_err(why)
    } else {
        PyOSError::new_err(why)
    }
}

/// The value of a handle, which one thread uses at a time. It has a place of its own, as a waiter
/// lies on a cache line, and Python's objects lie anywhere.
struct Held<T>(Box<Owned<T>>);

struct Owned<T> {
    value: Mutex<T>,
    /// The [`thread`] that uses the value, or zero.
    owner: AtomicUsize,
}

impl<T> Held<T> {
    fn new(value: T) -> Self {
        let value = Mutex::new(value);
        let owner = AtomicUsize::new(0);
        Self(Box::new(Owned { value, owner }))
    }

    /// Takes the value for a call.
    ///
    /// # Errors
    /// The value is in use, by another thread or by this one, or a call has panicked.
    fn hold(&self) -> PyResult<Holding<'_, T>> {
        let owner = &self.0.owner;
        let why = match self.0.value.try_lock() {
            Ok(value) => {
                owner.store(thread(), Ordering::Relaxed);
                return Ok(Holding { value, owner });
            }
            Err(TryLockError::Poisoned(_)) => "an earlier call failed in the middle: make another",
            // Only this thread stores its own number, so it reads the truth about itself.
            Err(_) if owner.load(Ordering::Relaxed) == thread() => {
                "this thread is in the middle of a call of it, which a signal handler interrupted: \
                 give the handler its own"
            }
            Err(_) => "another thread uses it just now: give each its own",
        };
        Err(PyRuntimeError::new_err(why))
    }
}

struct Holding<'a, T> {
    value: MutexGuard<'a, T>,
    owner: &'a AtomicUsize,
}

impl<T> Deref for Holding<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Holding<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Holding<'_, T> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}

/// A number that no other thread has while this one runs: the address of something of its own.
fn thread() -> usize {
    thread_local!(static OWN: u8 = const { 0 });
    OWN.with(|own| std::ptr::from_ref(own).addr())
}

fn as_ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
