use std::time::Duration;

use punctual::guard::{
    HonouredRequests, Priority, ThreadPriority, TimerResolution, TimerSlack, WakeupLatency,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::{as_ns, raised};

enum Asked {
    Resolution(Duration),
    Honoured,
    Slack(Duration),
    Latency(Duration),
    Priority(Priority),
}

enum Kind {
    Resolution(TimerResolution),
    Slack(TimerSlack),
    Other(#[expect(dead_code, reason = "held until it is dropped")] Other),
}

#[expect(dead_code, reason = "held until they are dropped")]
enum Other {
    Honoured(HonouredRequests),
    Latency(WakeupLatency),
    Priority(ThreadPriority),
}

/// A change of how the system treats waiting, for as long as a `with` block lasts.
///
/// `timer_resolution`, `timer_slack` and others return one. Only the thread that made it may
/// use it, as the change may be that thread's.
#[pyclass(unsendable, module = "punctual_time")]
pub(crate) struct Guard {
    asked: Asked,
    held: Option<Kind>,
}

#[pymethods]
impl Guard {
    #[new]
    #[pyo3(signature = (kind, seconds=0.0, priority="normal"))]
    fn new(kind: &str, seconds: f64, priority: &str) -> PyResult<Self> {
        let length = Duration::try_from_secs_f64(seconds)
            .map_err(|why| PyValueError::new_err(format!("{seconds} s: {why}")))?;
        let asked = match kind {
            "timer_resolution" => Asked::Resolution(length),
            "honoured_requests" => Asked::Honoured,
            "timer_slack" => Asked::Slack(length),
            "wakeup_latency" => Asked::Latency(length),
            "thread_priority" => Asked::Priority(match priority {
                "background" => Priority::Background,
                "utility" => Priority::Utility,
                "normal" => Priority::Normal,
                "interactive" => Priority::Interactive,
                "real-time" => Priority::RealTime,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "{priority:?}: a priority is background, utility, normal, interactive or real-time"
                    )));
                }
            }),
            _ => return Err(PyValueError::new_err(format!("there is no guard {kind:?}"))),
        };
        Ok(Self { asked, held: None })
    }

    /// Makes the change.
    fn __enter__(mut this: PyRefMut<'_, Self>) -> PyResult<PyRefMut<'_, Self>> {
        if this.held.is_some() {
            return Err(PyRuntimeError::new_err("it is held already"));
        }
        let held = match &this.asked {
            Asked::Resolution(length) => TimerResolution::hold(*length).map(Kind::Resolution),
            Asked::Slack(length) => TimerSlack::hold(*length).map(Kind::Slack),
            Asked::Honoured => {
                HonouredRequests::hold().map(|held| Kind::Other(Other::Honoured(held)))
            }
            Asked::Latency(length) => {
                WakeupLatency::hold(*length).map(|held| Kind::Other(Other::Latency(held)))
            }
            Asked::Priority(priority) => {
                ThreadPriority::hold(*priority).map(|held| Kind::Other(Other::Priority(held)))
            }
        };
        this.held = Some(held.map_err(raised)?);
        Ok(this)
    }

    /// Takes the change back.
    fn __exit__(&mut self, _kind: Py<PyAny>, _value: Py<PyAny>, _trace: Py<PyAny>) {
        self.held = None;
    }

    /// The length that the system granted, if it says so; `None` outside of the `with` block.
    #[getter]
    fn granted_ns(&self) -> PyResult<Option<u64>> {
        Ok(match &self.held {
            Some(Kind::Resolution(held)) => Some(as_ns(held.granted().map_err(raised)?)),
            Some(Kind::Slack(held)) => Some(as_ns(held.granted())),
            _ => None,
        })
    }
}
