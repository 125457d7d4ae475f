//! The native part of `punctual_time`; what it means for Python stands in `_native.pyi`.

mod doctor;
mod guard;
mod queue;
mod rate;
mod wait;

use pyo3::exceptions::{PyOSError, PyPermissionError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

#[pymodule]
#[pyo3(name = "_native")]
mod native {
    #[pymodule_export]
    use super::doctor::doctor;
    #[pymodule_export]
    use super::guard::Guard;
    #[cfg(unix)]
    #[pymodule_export]
    use super::queue::Mailbox;
    #[pymodule_export]
    use super::queue::{TimerQueue, TimerThread};
    #[pymodule_export]
    use super::rate::{Books, Rate, Tick};
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

/// What a handle holds: of two threads that use it at once, one is told. In a place of its
/// own, as a waiter lies on a cache line, and Python's objects lie anywhere.
struct Held<T>(Box<Mutex<T>>);

impl<T> Held<T> {
    fn new(value: T) -> Self {
        Self(Box::new(Mutex::new(value)))
    }

    fn hold(&self) -> PyResult<MutexGuard<'_, T>> {
        self.0.try_lock().map_err(|_| {
            PyRuntimeError::new_err("another thread uses it just now: give each its own")
        })
    }
}

fn as_ns(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}
