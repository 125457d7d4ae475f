use std::sync::Mutex;
use std::time::Duration;

use punctual::ns;
use punctual_timers::{Key, Time, Timers, Window};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::Held;

#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct TimerQueue(Held<punctual_timers::TimerQueue<Py<PyAny>>>);

#[pymethods]
impl TimerQueue {
    #[new]
    fn new() -> Self {
        Self(Held::new(punctual_timers::TimerQueue::new()))
    }

    #[pyo3(signature = (earliest_ns, callback, tolerance_ns=0))]
    fn insert(&self, earliest_ns: u64, callback: Py<PyAny>, tolerance_ns: u64) -> PyResult<u64> {
        let tolerance = Duration::from_nanos(tolerance_ns);
        let window = Window::after(Time::from_ns(earliest_ns), tolerance);
        Ok(self.0.hold()?.insert(window, callback).to_bits())
    }

    fn cancel(&self, key: u64) -> PyResult<bool> {
        let cancelled = self.0.hold()?.cancel(Key::from_bits(key));
        Ok(cancelled.is_some())
    }

    #[getter]
    fn next_wake_ns(&self) -> PyResult<Option<u64>> {
        Ok(self.0.hold()?.next_wake().map(Time::as_ns))
    }

    #[pyo3(signature = (now_ns=None))]
    fn advance(&self, py: Python<'_>, now_ns: Option<u64>) -> PyResult<u64> {
        let now = Time::from_ns(now_ns.unwrap_or_else(ns::now));
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
            // None where the interpreter has ended: then nobody waits for it.
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
