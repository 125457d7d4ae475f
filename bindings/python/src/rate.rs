use std::hash::{Hash, Hasher};
use std::time::Instant;

use punctual::{MissedTickBehavior, Pacer, Period, ns};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::wait::{Cancel, Outcome, Reduced, Seen, Statistics, reduced, shift};
use crate::{Held, raised};

/// A slot of a rate that was waited for.
#[pyclass(frozen, get_all, eq, hash, module = "punctual_time")]
pub(crate) struct Tick {
    /// The number of the slot, from 0. Missed slots have numbers too.
    number: u64,
    /// The time at which the slot was due, as of `time.monotonic_ns`.
    scheduled_ns: u64,
    /// The time at which Python continued, as of `time.monotonic_ns`; never before it was due.
    actual_ns: u64,
    /// The number of slots missed since the tick before, and because of this one.
    missed: u64,
    /// The wait for it.
    outcome: Py<Outcome>,
}

impl Tick {
    fn parts(&self) -> (u64, u64, u64, u64, &Outcome) {
        let outcome = self.outcome.get();
        (
            self.number,
            self.scheduled_ns,
            self.actual_ns,
            self.missed,
            outcome,
        )
    }
}

impl PartialEq for Tick {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Hash for Tick {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

#[pymethods]
impl Tick {
    fn __reduce__(&self, py: Python<'_>) -> Reduced<(u64, u64, u64, u64, Py<Outcome>)> {
        let fields = (
            self.number,
            self.scheduled_ns,
            self.actual_ns,
            self.missed,
            self.outcome.clone_ref(py),
        );
        reduced::<Self, _>(py, fields)
    }

    #[staticmethod]
    fn _restore(
        number: u64,
        scheduled_ns: u64,
        actual_ns: u64,
        missed: u64,
        outcome: Py<Outcome>,
    ) -> Self {
        Self {
            number,
            scheduled_ns,
            actual_ns,
            missed,
            outcome,
        }
    }

    /// How long after the slot was due Python continued.
    #[getter]
    fn lateness_ns(&self) -> u64 {
        self.actual_ns.saturating_sub(self.scheduled_ns)
    }

    fn __repr__(&self) -> String {
        format!(
            "Tick(number={}, lateness_ns={}, missed={})",
            self.number,
            self.lateness_ns(),
            self.missed
        )
    }
}

/// A count of all slots of a rate: `due` equals `ticks`, `missed` and `owed` together.
#[pyclass(frozen, get_all, eq, hash, module = "punctual_time")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct SlotCounts {
    /// The slots that were due until the last tick or change.
    due: u64,
    /// The slots that had a tick.
    ticks: u64,
    /// The slots that never get a tick.
    missed: u64,
    /// The slots that were due and still get a tick.
    owed: u64,
    /// How often the schedule moved: by a late tick with `delay`, a new rate or a reset.
    shifts: u64,
    /// How far these moved the next slot in all; less than zero if earlier.
    shift_ns: i64,
}

#[pymethods]
impl SlotCounts {
    fn __reduce__(&self, py: Python<'_>) -> Reduced<(u64, u64, u64, u64, u64, i64)> {
        let fields = (
            self.due,
            self.ticks,
            self.missed,
            self.owed,
            self.shifts,
            self.shift_ns,
        );
        reduced::<Self, _>(py, fields)
    }

    #[staticmethod]
    fn _restore(due: u64, ticks: u64, missed: u64, owed: u64, shifts: u64, shift_ns: i64) -> Self {
        Self {
            due,
            ticks,
            missed,
            owed,
            shifts,
            shift_ns,
        }
    }

    fn __repr__(&self) -> String {
        format!(
            "SlotCounts(due={}, ticks={}, missed={}, owed={})",
            self.due, self.ticks, self.missed, self.owed
        )
    }
}

/// The schedule, which waits for nothing, and what waits for it.
struct Paced {
    pacer: Pacer,
    seen: Seen,
}

#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct Rate(Held<Paced>);

#[pymethods]
impl Rate {
    #[new]
    #[pyo3(signature = (hz, missed="skip", *, strategy=None, late_weight=None, start_ns=None, poisson_seed=None))]
    fn new(
        hz: f64,
        missed: &str,
        strategy: Option<&str>,
        late_weight: Option<f64>,
        start_ns: Option<u64>,
        poisson_seed: Option<u64>,
    ) -> PyResult<Self> {
        let period = Period::hz_f64(hz).map_err(raised)?;
        let pacer = match start_ns {
            None => Pacer::new(period),
            Some(start) => Pacer::starting_at(ns::instant(start), period),
        };
        let mut pacer = pacer.with_missed_tick_behavior(behavior(missed)?);
        if let Some(seed) = poisson_seed {
            pacer = pacer.poisson(seed);
        }
        let seen = Seen::new(strategy, late_weight)?;
        Ok(Self(Held::new(Paced { pacer, seen })))
    }

    #[pyo3(signature = (cancel=None))]
    fn begin(&self, py: Python<'_>, cancel: Option<&Cancel>) -> PyResult<bool> {
        let mut paced = self.0.hold()?;
        let scheduled = paced.pacer.next_at();
        paced.seen.begin(py, scheduled, cancel)
    }

    /// The slot that is next, if it has passed.
    fn try_tick(&self, py: Python<'_>) -> PyResult<Option<Tick>> {
        let mut paced = self.0.hold()?;
        let scheduled = paced.pacer.next_at();
        let (outcome, is_over) = paced.seen.end(scheduled);
        let told = Py::new(py, Outcome::from(outcome))?;
        if !is_over {
            return Ok(None);
        }
        let shift = shift(py)?;
        let shown = |instant| ns::of(instant).saturating_add_signed(shift);
        let tick = paced.pacer.next_slot();
        paced.seen.statistics.miss(tick.missed());
        Ok(Some(Tick {
            number: tick.number(),
            scheduled_ns: shown(scheduled),
            actual_ns: shown(scheduled + outcome.lateness()),
            missed: tick.missed(),
            outcome: told,
        }))
    }

    #[getter]
    fn next_ns(&self) -> PyResult<u64> {
        Ok(ns::of(self.0.hold()?.pacer.next_at()))
    }

    fn remaining(&self) -> PyResult<f64> {
        let next = self.0.hold()?.pacer.next_at();
        let left = next.saturating_duration_since(Instant::now());
        Ok(left.as_secs_f64())
    }

    fn reset(&self) -> PyResult<()> {
        self.0.hold()?.pacer.reset_at(Instant::now());
        Ok(())
    }

    #[getter]
    fn hz(&self) -> PyResult<f64> {
        Ok(self.0.hold()?.pacer.period().as_hz())
    }

    fn set_hz(&self, hz: f64) -> PyResult<()> {
        let period = Period::hz_f64(hz).map_err(raised)?;
        self.0.hold()?.pacer.set_period(period);
        Ok(())
    }

    fn statistics(&self) -> PyResult<Statistics> {
        Ok((&self.0.hold()?.seen.statistics).into())
    }

    fn counts(&self) -> PyResult<SlotCounts> {
        let counts = self.0.hold()?.pacer.counts();
        Ok(SlotCounts {
            due: counts.due,
            ticks: counts.ticks,
            missed: counts.missed,
            owed: counts.owed,
            shifts: counts.shifts,
            shift_ns: counts.shift_ns,
        })
    }
}

fn behavior(text: &str) -> PyResult<MissedTickBehavior> {
    let of = |most: &str| most.parse().ok().map(MissedTickBehavior::BurstOf);
    let known = match text.split_once(':') {
        Some(("burst-of", most)) => of(most),
        Some(_) => None,
        None => match text {
            "skip" => Some(MissedTickBehavior::Skip),
            "burst" => Some(MissedTickBehavior::Burst),
            "delay" => Some(MissedTickBehavior::Delay),
            _ => None,
        },
    };
    known.ok_or_else(|| {
        PyValueError::new_err(format!(
            "missed={text:?}: it is skip, burst, burst-of:N or delay"
        ))
    })
}
