use std::cell::RefCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use punctual::{Strategy, ns};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

use crate::{Held, as_ns, raised};

create_exception!(
    punctual_time,
    Cancelled,
    PyException,
    "The wait was cancelled."
);

#[pyfunction]
pub(crate) fn now_ns() -> u64 {
    ns::now()
}

#[pyclass(frozen, get_all, module = "punctual_time")]
pub(crate) struct Outcome {
    lateness_ns: u64,
    slept_ns: u64,
    spun_ns: u64,
    naps: u32,
    hit_budget: bool,
}

impl From<punctual::Outcome> for Outcome {
    fn from(outcome: punctual::Outcome) -> Self {
        Self {
            lateness_ns: as_ns(outcome.lateness()),
            slept_ns: as_ns(outcome.slept()),
            spun_ns: as_ns(outcome.spun()),
            naps: outcome.naps(),
            hit_budget: outcome.hit_budget(),
        }
    }
}

#[pymethods]
impl Outcome {
    fn __repr__(&self) -> String {
        format!(
            "Outcome(lateness_ns={}, slept_ns={}, spun_ns={}, naps={}, hit_budget={})",
            self.lateness_ns,
            self.slept_ns,
            self.spun_ns,
            self.naps,
            if self.hit_budget { "True" } else { "False" }
        )
    }
}

#[pyclass(frozen, get_all, module = "punctual_time")]
pub(crate) struct Statistics {
    waits: u64,
    past: u64,
    missed: u64,
    naps: u64,
    slept_ns: u64,
    spun_ns: u64,
    budget_hits: u64,
    mean_ns: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

impl From<&punctual::Statistics> for Statistics {
    fn from(seen: &punctual::Statistics) -> Self {
        let quantile = |q| seen.lateness_quantile(q).map_or(0, as_ns);
        Self {
            waits: seen.waits(),
            past: seen.past(),
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

impl Statistics {
    fn rows(&self) -> [(&'static str, u64); 13] {
        [
            ("waits", self.waits),
            ("past", self.past),
            ("missed", self.missed),
            ("naps", self.naps),
            ("slept_ns", self.slept_ns),
            ("spun_ns", self.spun_ns),
            ("budget_hits", self.budget_hits),
            ("mean_ns", self.mean_ns),
            ("p50_ns", self.p50_ns),
            ("p90_ns", self.p90_ns),
            ("p99_ns", self.p99_ns),
            ("p999_ns", self.p999_ns),
            ("max_ns", self.max_ns),
        ]
    }
}

#[pymethods]
impl Statistics {
    fn __repr__(&self) -> String {
        let rows = self.rows().map(|(name, value)| format!("{name}={value}"));
        format!("Statistics({})", rows.join(", "))
    }

    fn _repr_html_(&self) -> String {
        let rows = self
            .rows()
            .map(|(name, value)| format!("<tr><th>{name}</th><td>{value}</td></tr>"));
        format!("<table>{}</table>", rows.concat())
    }
}

#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct Cancel(pub(crate) punctual::Cancel);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self(punctual::Cancel::new())
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    fn reset(&self) {
        self.0.reset();
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// A waiter, and what a Python program has seen of its waits.
///
/// When the thread wakes, the interpreter's lock is still to be had, and the interpreter is in no
/// cache: tens of microseconds. So a wait ends earlier by what that usually takes, and what
/// is left is spun in Python's own code, which is warm when the deadline comes.
pub(crate) struct Seen {
    waiter: punctual::Waiter,
    pub(crate) statistics: punctual::Statistics,
    lead: Option<Lead>,
    /// The wait that has begun: what became of it, and when that was.
    begun: Option<(punctual::Outcome, Instant)>,
}

/// How much earlier a wait ends, as learned: nine in ten have this much time.
struct Lead(Duration);

impl Lead {
    const FIRST: Self = Self(Duration::from_micros(50));
    /// What the interpreter is warm after.
    const WARM: Duration = Duration::from_micros(30);
    /// Longer than that others have the lock, for 5 ms at a time: that is not waited out.
    const MOST: Duration = Duration::from_micros(200);

    /// The lock came back so long after the wait.
    fn learn(&mut self, after: Duration) {
        let step = self.0 / 160 + Duration::from_nanos(100);
        self.0 = match after + Self::WARM > self.0 {
            true => (self.0 + 9 * step).min(Self::MOST),
            false => self.0.saturating_sub(step),
        };
    }
}

impl Seen {
    pub(crate) fn new(strategy: Option<&str>, late_weight: Option<f64>) -> PyResult<Self> {
        let spins = !strategy.is_some_and(|text| text == "system" || text.contains("budget=never"));
        let strategy = match (strategy, late_weight) {
            (None, None) => Strategy::default(),
            (Some(text), None) => text.parse().map_err(raised)?,
            (None, Some(weight)) => Strategy::adaptive(weight),
            (Some(_), Some(_)) => {
                let why = "give a strategy or a late_weight, not both";
                return Err(PyValueError::new_err(why));
            }
        };
        let waiter = punctual::Waiter::builder().strategy(strategy).build();
        Ok(Self {
            waiter: waiter.map_err(raised)?,
            statistics: punctual::Statistics::new(),
            lead: spins.then_some(Lead::FIRST),
            begun: None,
        })
    }

    /// Waits without the interpreter's lock until shortly before the deadline, or a little after
    /// it; a signal handler of Python runs at once, and what it raises ends the wait.
    pub(crate) fn begin(
        &mut self,
        py: Python<'_>,
        deadline: Instant,
        cancel: Option<&Cancel>,
    ) -> PyResult<()> {
        let lead = self.lead.as_ref().map_or(Duration::ZERO, |lead| lead.0);
        let early = deadline.checked_sub(lead).unwrap_or(deadline);
        let waiter = &mut self.waiter;
        let outcome = match cancel {
            Some(cancel) => py
                .detach(|| waiter.wait_until(early, &cancel.0))
                .map_err(|why| Cancelled::new_err(why.to_string()))?,
            None => loop {
                match py.detach(|| waiter.sleep_until_interruptible(early)) {
                    Ok(outcome) => break outcome,
                    Err(_) => py.check_signals()?,
                }
            },
        };
        let now = Instant::now();
        if let (Some(lead), 1..) = (&mut self.lead, outcome.naps()) {
            lead.learn(now.saturating_duration_since(early));
        }
        self.begun = Some((outcome, now));
        Ok(())
    }

    /// The end of a wait that has begun, and whether its deadline has come; until then it is
    /// rehearsed, so that it takes no time when it counts.
    pub(crate) fn end(&mut self, deadline: Instant) -> (punctual::Outcome, bool) {
        let now = Instant::now();
        let (outcome, woke) = self.begun.unwrap_or((punctual::Outcome::default(), now));
        let spun = deadline.saturating_duration_since(woke);
        let seen = outcome.seen_at(deadline, now, spun);
        if now < deadline {
            black_box(self.statistics.clone()).record(&seen);
            return (seen, false);
        }
        self.begun = None;
        self.statistics.record(&seen);
        (seen, true)
    }
}

thread_local! {
    static OWN: RefCell<Option<Seen>> = const { RefCell::new(None) };
}

/// With the waiter of this thread, which is taken out meanwhile: a handler that runs during the
/// wait may wait too.
fn with_own<T>(use_it: impl FnOnce(&mut Seen) -> PyResult<T>) -> PyResult<T> {
    let own = OWN.with(|own| own.borrow_mut().take());
    let mut own = own.map_or_else(|| Seen::new(None, None), Ok)?;
    let result = use_it(&mut own);
    OWN.with(|place| *place.borrow_mut() = Some(own));
    result
}

#[pyfunction]
pub(crate) fn begin_ns(py: Python<'_>, deadline: u64) -> PyResult<()> {
    with_own(|own| own.begin(py, ns::instant(deadline), None))
}

#[pyfunction]
pub(crate) fn end_ns(py: Python<'_>, deadline: u64) -> PyResult<Option<Py<Outcome>>> {
    let ended = with_own(|own| Ok(own.end(ns::instant(deadline))))?;
    told(py, ended)
}

fn told(
    py: Python<'_>,
    (outcome, is_over): (punctual::Outcome, bool),
) -> PyResult<Option<Py<Outcome>>> {
    let told = Py::new(py, Outcome::from(outcome))?;
    Ok(is_over.then_some(told))
}

#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct Waiter(Held<Seen>);

#[pymethods]
impl Waiter {
    #[new]
    #[pyo3(signature = (strategy=None, late_weight=None))]
    fn new(strategy: Option<&str>, late_weight: Option<f64>) -> PyResult<Self> {
        Ok(Self(Held::new(Seen::new(strategy, late_weight)?)))
    }

    #[pyo3(signature = (deadline, cancel=None))]
    fn begin_ns(&self, py: Python<'_>, deadline: u64, cancel: Option<&Cancel>) -> PyResult<()> {
        self.0.hold()?.begin(py, ns::instant(deadline), cancel)
    }

    fn end_ns(&self, py: Python<'_>, deadline: u64) -> PyResult<Option<Py<Outcome>>> {
        let ended = self.0.hold()?.end(ns::instant(deadline));
        told(py, ended)
    }

    fn statistics(&self) -> PyResult<Statistics> {
        Ok((&self.0.hold()?.statistics).into())
    }
}
