use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use punctual::{Strategy, ns};
use punctual_core::StrategySpec;
use punctual_core::strategies::Defaults;
use pyo3::PyTypeInfo;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyImportError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

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

static SHOWN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Has instants that are told be those of another clock than this library's.
#[pyfunction]
pub(crate) fn show_on(py: Python<'_>, clock: Py<PyAny>) {
    // It is the same each time.
    let _ = SHOWN.set(py, clock);
}

/// The offset from this library's clock to that of Python's programs.
pub(crate) fn shift(py: Python<'_>) -> PyResult<i64> {
    let Some(clock) = SHOWN.get(py) else {
        return Ok(0);
    };
    // Read first: what is told as over is over there, too.
    let shown: u64 = clock.call0(py)?.extract(py)?;
    Ok(shown.wrapping_sub(ns::now()) as i64)
}

/// A loop of waits as a program in Rust has it, to compare with: how late each was.
#[pyfunction]
pub(crate) fn loop_ns(py: Python<'_>, period: u64, waits: usize) -> Vec<u64> {
    py.detach(|| {
        let mut deadline = ns::now();
        let mut late = Vec::with_capacity(waits);
        for _ in 0..waits {
            deadline += period;
            punctual::sleep_until(ns::instant(deadline));
            let now = ns::now();
            late.push(now - deadline);
            // The time lost by a stall is not caught up with.
            deadline = deadline.max(now.saturating_sub(period));
        }
        late
    })
}

/// The result of one wait: how late it was, and what it cost.
#[pyclass(frozen, get_all, eq, hash, module = "punctual_time")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Outcome {
    /// How long after its deadline Python continued.
    lateness_ns: u64,
    /// The time in calls that sleep.
    slept_ns: u64,
    /// The time spent spinning, which is CPU time.
    spun_ns: u64,
    /// How often the thread slept.
    naps: u32,
    /// Whether the wait would have spun more without its budget.
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
    fn __reduce__(&self, py: Python<'_>) -> Reduced<(u64, u64, u64, u32, bool)> {
        let fields = (
            self.lateness_ns,
            self.slept_ns,
            self.spun_ns,
            self.naps,
            self.hit_budget,
        );
        reduced::<Self, _>(py, fields)
    }

    #[staticmethod]
    fn _restore(
        lateness_ns: u64,
        slept_ns: u64,
        spun_ns: u64,
        naps: u32,
        hit_budget: bool,
    ) -> Self {
        Self {
            lateness_ns,
            slept_ns,
            spun_ns,
            naps,
            hit_budget,
        }
    }

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

/// The lateness and cost of many waits. Quantiles are up to an eighth too high.
///
/// Statistics of several threads or processes add up: `+`, `sum()` or `merge`. They can be pickled.
#[pyclass(eq, module = "punctual_time")]
#[derive(PartialEq)]
pub(crate) struct Statistics(punctual::Statistics);

impl From<&punctual::Statistics> for Statistics {
    fn from(seen: &punctual::Statistics) -> Self {
        Self(seen.clone())
    }
}

impl Statistics {
    fn quantile_ns(&self, q: f64) -> u64 {
        self.0.lateness_quantile(q).map_or(0, as_ns)
    }

    fn rows(&self) -> [(&'static str, u64); 13] {
        [
            ("waits", self.waits()),
            ("already_late", self.already_late()),
            ("missed", self.missed()),
            ("naps", self.naps()),
            ("slept_ns", self.slept_ns()),
            ("spun_ns", self.spun_ns()),
            ("budget_hits", self.budget_hits()),
            ("mean_ns", self.mean_ns()),
            ("p50_ns", self.p50_ns()),
            ("p90_ns", self.p90_ns()),
            ("p99_ns", self.p99_ns()),
            ("p999_ns", self.p999_ns()),
            ("max_ns", self.max_ns()),
        ]
    }
}

#[pymethods]
impl Statistics {
    #[new]
    fn new() -> Self {
        Self(punctual::Statistics::new())
    }

    /// The number of waits that reached their deadline.
    #[getter]
    fn waits(&self) -> u64 {
        self.0.waits()
    }

    /// The number of those whose deadline had passed when they began.
    #[getter]
    fn already_late(&self) -> u64 {
        self.0.already_late()
    }

    /// The number of slots that never got a tick.
    #[getter]
    fn missed(&self) -> u64 {
        self.0.missed()
    }

    /// How often threads slept in these waits.
    #[getter]
    fn naps(&self) -> u64 {
        self.0.naps()
    }

    /// The time in calls that sleep.
    #[getter]
    fn slept_ns(&self) -> u64 {
        as_ns(self.0.slept())
    }

    /// The time spent spinning, which is CPU time.
    #[getter]
    fn spun_ns(&self) -> u64 {
        as_ns(self.0.spun())
    }

    /// The number of waits that would have spun more without their budget.
    #[getter]
    fn budget_hits(&self) -> u64 {
        self.0.budget_hits()
    }

    /// The mean lateness.
    #[getter]
    fn mean_ns(&self) -> u64 {
        as_ns(self.0.mean_lateness())
    }

    /// The median lateness.
    #[getter]
    fn p50_ns(&self) -> u64 {
        self.quantile_ns(0.5)
    }

    /// The 90th percentile of lateness.
    #[getter]
    fn p90_ns(&self) -> u64 {
        self.quantile_ns(0.9)
    }

    /// The 99th percentile of lateness.
    #[getter]
    fn p99_ns(&self) -> u64 {
        self.quantile_ns(0.99)
    }

    /// The lateness that 999 of 1000 waits do not exceed.
    #[getter]
    fn p999_ns(&self) -> u64 {
        self.quantile_ns(0.999)
    }

    /// The largest lateness, which is exact.
    #[getter]
    fn max_ns(&self) -> u64 {
        as_ns(self.0.max_lateness())
    }

    /// Adds the waits of another.
    fn merge(this: &Bound<'_, Self>, other: &Bound<'_, Self>) {
        // Copied first, as it may be the same.
        let other = other.borrow().0.clone();
        this.borrow_mut().0.merge(&other);
    }

    fn __add__(&self, other: &Self) -> Self {
        let mut both = self.0.clone();
        both.merge(&other.0);
        Self(both)
    }

    /// `sum()` begins with the number 0.
    fn __radd__(&self, py: Python<'_>, other: i64) -> PyResult<Py<PyAny>> {
        match other {
            0 => Ok(Py::new(py, Self::from(&self.0))?.into_any()),
            _ => Ok(py.NotImplemented()),
        }
    }

    /// Returns all numbers by name, as a row of a table.
    fn asdict(&self) -> BTreeMap<&'static str, u64> {
        self.rows().into_iter().collect()
    }

    fn __reduce__(&self, py: Python<'_>) -> Reduced<(String,)> {
        let state = serde_json::to_string(&self.0).map_err(invalid)?;
        reduced::<Self, _>(py, (state,))
    }

    #[staticmethod]
    fn _restore(state: &str) -> PyResult<Self> {
        serde_json::from_str(state).map(Self).map_err(invalid)
    }

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

/// A pickle: the function that makes a value of the class again, and its arguments.
pub(crate) type Reduced<F> = PyResult<(Py<PyAny>, F)>;

pub(crate) fn reduced<T: PyTypeInfo, F>(py: Python<'_>, fields: F) -> Reduced<F> {
    let restore = py.get_type::<T>().getattr("_restore")?;
    Ok((restore.unbind(), fields))
}

fn invalid(why: serde_json::Error) -> PyErr {
    PyValueError::new_err(format!("no pickle of these statistics: {why}"))
}

/// Ends waits before their deadline, from any thread: they raise `Cancelled`.
#[pyclass(frozen, module = "punctual_time")]
pub(crate) struct Cancel(pub(crate) punctual::Cancel);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self(punctual::Cancel::new())
    }

    /// Ends all waits that use it, and those that begin later.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Lets waits that begin later wait again.
    fn reset(&self) {
        self.0.reset();
    }

    /// Whether `cancel` was called since the last `reset`.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// A waiter, and what a Python program has seen of its waits.
///
/// When the thread wakes, the interpreter's lock is not held yet, and neither the interpreter nor
/// the program is in any cache. That takes tens of microseconds. A wait therefore ends earlier, by
/// the usual time until the code after a wait has been rehearsed in Python. The rest is spun
/// there, with the lock. Where other threads want the lock, all of the wait is the library's.
pub(crate) struct Seen {
    waiter: punctual::Waiter,
    /// Waits where other threads want the lock, if not as `waiter` does.
    among: Option<Box<punctual::Waiter>>,
    pub(crate) statistics: punctual::Statistics,
    lead: Option<Lead>,
    /// How long before its end a wait is the strategy's own; what is earlier only naps.
    own: Duration,
    /// Makes the pieces before that. It costs little, whatever the strategy would spin in each.
    far: Box<punctual::Waiter>,
    begun: Option<Begun>,
}

/// A wait that has begun, and what became of it so far.
#[derive(Clone, Copy)]
struct Begun {
    deadline: Instant,
    outcome: punctual::Outcome,
    woke: Instant,
    /// The number of tries of its end before it is rehearsed, so that the lead learns of it.
    unrehearsed: u32,
}

/// How much earlier a wait ends, as learned. Of `weight` + 1 waits all but one are rehearsed by
/// the deadline, which minimises CPU time plus `weight` times lateness.
struct Lead {
    length: Duration,
    weight: f64,
}

impl Lead {
    const FIRST: Duration = Duration::from_micros(100);
    /// Longer than that others have the CPU, or the lock for 5 ms at a time: that is not waited
    /// out.
    const MOST: Duration = Duration::from_micros(300);

    fn learn(&mut self, was_enough: bool) {
        let step = self.length / 32 + Duration::from_micros(1);
        self.length = match was_enough {
            true => self.length.saturating_sub(step.div_f64(self.weight)),
            false => (self.length + step).min(Self::MOST),
        };
    }
}

/// A thread that wakes and gets the interpreter's lock later than this met another one that had it.
const CONTENDED: Duration = Duration::from_micros(30);

/// How long waits do not spin with the lock then: a dozen waits at 60 Hz.
const CONTENDED_NS: u64 = 250_000_000;

/// Until when that is, on the library's clock.
static CONTENDED_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Longer waits of the main thread are made in pieces, between which handlers run. A signal that
/// comes while the thread does not sleep, or is delivered to another thread, ends no nap.
const MOST: Duration = Duration::from_millis(50);

/// The length of these pieces. At least the rest of `MOST` is left to the strategy.
const PIECE: Duration = Duration::from_millis(40);

/// Whether this thread runs Python's signal handlers.
fn runs_handlers(py: Python<'_>) -> PyResult<bool> {
    let threading = match py.import("threading") {
        Ok(threading) => threading,
        // At the end of the interpreter there may be none.
        Err(why) if why.is_instance_of::<PyImportError>(py) => return Ok(false),
        // A handler may run meanwhile.
        Err(why) => return Err(why),
    };
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

/// As `_rehearse` of the package does.
const REHEARSALS: u32 = 2;

impl Seen {
    pub(crate) fn new(strategy: Option<&str>, late_weight: Option<f64>) -> PyResult<Self> {
        let strategy = match (strategy, late_weight) {
            (None, None) => Strategy::default(),
            (Some(text), None) => text.parse().map_err(raised)?,
            (None, Some(weight)) => Strategy::adaptive(weight),
            (Some(_), Some(_)) => {
                let why = "give a strategy or a late_weight, not both";
                return Err(PyValueError::new_err(why));
            }
        };
        let build = |strategy| punctual::Waiter::builder().strategy(strategy).build();
        let mut waiter = build(strategy.clone()).map_err(raised)?;
        let weights = [1.0, 10.0, 100.0].into_iter().chain(late_weight);
        let weight = weights
            .into_iter()
            .find(|weight| strategy == Strategy::adaptive(*weight));
        let mut among = None;
        if weight.is_some() {
            // Spins are in Python, where the interpreter gets warm meanwhile.
            let naps = build(Strategy::adaptive(0.01)).map_err(raised)?;
            among = Some(Box::new(std::mem::replace(&mut waiter, naps)));
        }
        // Spins in Python would be spun beside the budget.
        let text = strategy.to_string();
        let may_spin = strategy != Strategy::system()
            && !["budget=", "spin="]
                .iter()
                .any(|limit| text.contains(limit));
        let lead = may_spin.then_some(Lead {
            length: Lead::FIRST,
            weight: weight.unwrap_or(10.0),
        });
        Ok(Self {
            waiter,
            among,
            statistics: punctual::Statistics::new(),
            lead,
            own: own(&strategy),
            far: Box::new(build(Strategy::adaptive(0.01)).map_err(raised)?),
            begun: None,
        })
    }

    /// Waits without the interpreter's lock until shortly before the deadline, or a little after
    /// it. A signal handler of Python runs within [`MOST`], mostly at once, and what it raises
    /// ends the wait. Returns whether there is something to rehearse, and time for it.
    pub(crate) fn begin(
        &mut self,
        py: Python<'_>,
        deadline: Instant,
        cancel: Option<&Cancel>,
    ) -> PyResult<bool> {
        let is_contended = ns::now() < CONTENDED_UNTIL.load(Relaxed);
        let lead = match &self.lead {
            Some(lead) if !is_contended => lead.length,
            _ => Duration::ZERO,
        };
        let near = match &mut self.among {
            Some(among) if is_contended => &mut **among,
            _ => &mut self.waiter,
        };
        let early = deadline.checked_sub(lead).unwrap_or(deadline);
        let is_long = early.saturating_duration_since(Instant::now()) > MOST;
        let in_pieces = is_long && runs_handlers(py)?;
        let mut before = punctual::Outcome::default();
        let outcome = loop {
            let now = Instant::now();
            let left = early.saturating_duration_since(now);
            let piece = match in_pieces && left > MOST {
                true => now + PIECE,
                false => early,
            };
            let waiter = match piece < early && left > self.own {
                true => &mut *self.far,
                false => &mut *near,
            };
            let (waited, woke) = py.detach(|| {
                let waited = match cancel {
                    Some(cancel) => waiter.sleep_until_or(piece, &cancel.0).map(Ok),
                    None => Ok(waiter.sleep_until_interruptible(piece)),
                };
                (waited, Instant::now())
            });
            if woke.elapsed() > CONTENDED {
                CONTENDED_UNTIL.store(ns::now().saturating_add(CONTENDED_NS), Relaxed);
            }
            match waited.map_err(|why| Cancelled::new_err(why.to_string()))? {
                Ok(outcome) if piece == early => break outcome.after(before),
                Ok(outcome) => before = outcome.after(before),
                Err(_) => {}
            }
            py.check_signals()?;
        };
        let woke = Instant::now();
        let left = deadline.saturating_duration_since(woke);
        let mut unrehearsed = 0;
        if let (Some(lead), 1.., false) = (&mut self.lead, outcome.naps(), is_contended) {
            match left > lead.length / 3 {
                true => unrehearsed = REHEARSALS,
                false => lead.learn(false),
            }
        }
        self.begun = Some(Begun {
            deadline,
            outcome,
            woke,
            unrehearsed,
        });
        Ok(unrehearsed > 0)
    }

    /// The end of a wait that has begun, and whether its deadline has come; until then it is
    /// rehearsed, so that it takes no time when it counts.
    pub(crate) fn end(&mut self, deadline: Instant) -> (punctual::Outcome, bool) {
        let now = Instant::now();
        let is_over = now >= deadline;
        let (mut outcome, mut woke) = (punctual::Outcome::default(), now);
        // A handler may have waited meanwhile.
        let begun = self.begun.as_mut();
        if let Some(begun) = begun.filter(|begun| begun.deadline == deadline) {
            (outcome, woke) = (begun.outcome, begun.woke);
            if begun.unrehearsed > 0 {
                begun.unrehearsed -= 1;
                if let (Some(lead), true) = (&mut self.lead, begun.unrehearsed == 0 || is_over) {
                    lead.learn(!is_over);
                }
            }
        }
        let spun = deadline.saturating_duration_since(woke);
        let seen = outcome.seen_at(deadline, now, spun);
        if is_over {
            self.begun = None;
            self.statistics.record(&seen);
        } else {
            black_box(self.statistics.clone()).record(&seen);
        }
        (seen, is_over)
    }
}

/// How long before the end of a wait this strategy must be asked, as it may spin from there on.
fn own(strategy: &Strategy) -> Duration {
    match StrategySpec::parse(&strategy.to_string(), Defaults::ELSEWHERE) {
        Ok(spec) if !spec.sleeps() => Duration::MAX,
        Ok(StrategySpec::FixedMargin { margin, .. }) => {
            MOST.max(Duration::from(margin).saturating_add(MOST - PIECE))
        }
        _ => MOST,
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
pub(crate) fn begin_ns(py: Python<'_>, deadline: u64) -> PyResult<bool> {
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
    fn begin_ns(&self, py: Python<'_>, deadline: u64, cancel: Option<&Cancel>) -> PyResult<bool> {
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
