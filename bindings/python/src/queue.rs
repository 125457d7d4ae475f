#[cfg(unix)]
use std::io::{Read, Write};
#[cfg(unix)]
use std::os::{fd::AsRawFd, unix::net::UnixStream};
use std::sync::Mutex;
#[cfg(unix)]
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use punctual::ns;
use punctual_timers::{Key, Time, Timers, Window};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::Held;
use crate::wait::shift;

/// Many timers in a loop of the caller's, without a thread.
///
/// Times are nanoseconds on any clock; without a time `advance` reads `time.monotonic_ns`.
#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct TimerQueue(Held<punctual_timers::TimerQueue<Py<PyAny>>>);

#[pymethods]
impl TimerQueue {
    #[new]
    fn new() -> Self {
        Self(Held::new(punctual_timers::TimerQueue::new()))
    }

    /// Adds a timer that calls `callback` with its time, from `earliest_ns` to `tolerance_ns` later.
    ///
    /// Returns a key to cancel it with.
    #[pyo3(signature = (earliest_ns, callback, tolerance_ns=0))]
    fn insert(&self, earliest_ns: u64, callback: Py<PyAny>, tolerance_ns: u64) -> PyResult<u64> {
        let tolerance = Duration::from_nanos(tolerance_ns);
        let window = Window::after(Time::from_ns(earliest_ns), tolerance);
        Ok(self.0.hold()?.insert(window, callback).to_bits())
    }

    /// Removes a timer. Returns whether it was still waiting.
    fn cancel(&self, key: u64) -> PyResult<bool> {
        let cancelled = self.0.hold()?.cancel(Key::from_bits(key));
        Ok(cancelled.is_some())
    }

    /// The time at which to call `advance` next; `None` if no timer waits.
    #[getter]
    fn next_wake_ns(&self) -> PyResult<Option<u64>> {
        Ok(self.0.hold()?.next_wake().map(Time::as_ns))
    }

    /// Calls the callbacks that are due. Returns how many it called.
    #[pyo3(signature = (now_ns=None))]
    fn advance(&self, py: Python<'_>, now_ns: Option<u64>) -> PyResult<u64> {
        let now = match now_ns {
            Some(now) => now,
            None => ns::now().saturating_add_signed(shift(py)?),
        };
        let now = Time::from_ns(now);
        let mut served = 0;
        loop {
            // Given back before the call, which may want the queue.
            let fired = self.0.hold()?.pop(now);
            let Some(fired) = fired else {
                return Ok(served);
            };
            fired.value.call1(py, (fired.window.earliest().as_ns(),))?;
            served += 1;
        }
    }

    /// The number of timers that wait.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.0.hold()?.len())
    }
}

/// One thread that calls at deadlines, for event loops.
#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct TimerThread(Mutex<Option<Timers>>);

impl TimerThread {
    fn timers(&self) -> PyResult<Timers> {
        let timers = self.0.lock().unwrap_or_else(|why| why.into_inner());
        let timers = timers.as_ref().cloned();
        timers.ok_or_else(|| PyOSError::new_err("the thread of the timers has ended"))
    }
}

#[pymethods]
impl TimerThread {
    #[new]
    fn new() -> PyResult<Self> {
        let timers = Timers::spawn().map_err(|why| PyOSError::new_err(why.to_string()))?;
        Ok(Self(Mutex::new(Some(timers))))
    }

    fn call_at_ns(&self, deadline: u64, callback: Py<PyAny>) -> PyResult<u64> {
        let call = move |_late: Duration| {
            // None where the interpreter has ended: then no thread waits for it.
            Python::try_attach(|py| {
                if let Err(why) = callback.call0(py) {
                    why.write_unraisable(py, Some(callback.bind(py)));
                }
            });
        };
        Ok(self
            .timers()?
            .call_at(ns::instant(deadline), call)
            .to_bits())
    }

    /// Has the loop of this mailbox take `value` then. Unlike a call it needs no lock of the
    /// interpreter, which another thread may have for 5 ms; the loop needs it anyway.
    #[cfg(unix)]
    fn post_at_ns(&self, deadline: u64, mailbox: &Mailbox, value: Py<PyAny>) -> PyResult<u64> {
        let post = Arc::clone(&mailbox.post);
        let put = move |_late: Duration| post.put(value);
        Ok(self.timers()?.call_at(ns::instant(deadline), put).to_bits())
    }

    fn cancel(&self, key: u64) -> PyResult<bool> {
        Ok(self.timers()?.cancel(Key::from_bits(key)))
    }

    /// Ends the thread.
    fn shutdown(&self, py: Python<'_>) {
        let timers = self.0.lock().unwrap_or_else(|why| why.into_inner()).take();
        // It may be about to call.
        py.detach(|| timers.map(Timers::shutdown));
    }
}

/// The connection of the timers' thread to an event loop, which waits for a descriptor and then takes the keys.
#[cfg(unix)]
#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct Mailbox {
    bell: UnixStream,
    post: Arc<Post>,
}

#[cfg(unix)]
struct Post {
    bell: UnixStream,
    values: Mutex<Vec<Py<PyAny>>>,
}

#[cfg(unix)]
impl Post {
    fn put(&self, value: Py<PyAny>) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.push(value);
        if values.len() == 1 {
            // Where it is full, or has no reader left, the loop need not be told.
            let _ = (&self.bell).write(&[0]);
        }
    }
}

#[cfg(unix)]
#[pymethods]
impl Mailbox {
    #[new]
    fn new() -> PyResult<Self> {
        let (bell, theirs) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let values = Mutex::default();
        let post = Arc::new(Post {
            bell: theirs,
            values,
        });
        Ok(Self { bell, post })
    }

    fn fileno(&self) -> i32 {
        self.bell.as_raw_fd()
    }

    fn take(&self) -> Vec<Py<PyAny>> {
        // Before, as what comes afterwards rings again.
        let _ = (&self.bell).read(&mut [0; 8]);
        let mut values = self
            .post
            .values
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *values)
    }
}
