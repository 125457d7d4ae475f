//! The wait calls that a machine has, and how fine they are.

use punctual_core::{Lateness, Method, Nanos};
use punctual_program::program::Op;
use punctual_program::{Machine, Refusal};
use punctual_record::{MachineFacts, nearest_rank};

use super::{has, naps, there};

/// A wait call of the OS, as it was found in a few naps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub method: Method,
    /// How much longer than 1 ms a nap of 1 ms was. Where timers go off on
    /// ticks of 15.6 ms, so many naps take fifteen times as long.
    pub over: Nanos,
}

const TRIALS: u64 = 5;
const LENGTH: Nanos = Nanos::from_ms(1);

impl Call {
    /// Finds out how fine `method` is.
    ///
    /// # Errors
    /// The machine does not have it.
    pub fn tried(machine: &mut dyn Machine, method: Method) -> Result<Self, Refusal> {
        let trial = vec![Op::Record, naps(TRIALS, method, LENGTH)];
        let observed = machine.run(&trial.into())?;
        let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
        let samples = sections.flat_map(|section| &section.samples);
        let mut over: Vec<Lateness> = samples.map(|sample| sample.outcome.late).collect();
        over.sort_unstable();
        // The first may be short, since it was not armed on a tick; and some long, because another
        // thread had the CPU.
        let usual = nearest_rank(&over, 250).map_or(0, |late| late.as_ns());
        Ok(Self {
            method,
            over: Nanos::new(u64::try_from(usual).unwrap_or(0)),
        })
    }

    /// About what a nap of this length takes.
    pub(super) fn takes(&self, length: Nanos) -> Nanos {
        length + self.over
    }

    /// How many naps of this length take about `part` together: at least one,
    /// and at most so many.
    pub(super) fn fit(&self, part: Nanos, length: Nanos, at_most: u64) -> u64 {
        let each = self.takes(length).as_ns().max(1);
        (part.as_ns() / each).clamp(1, at_most.max(1))
    }
}

/// Every wait call that `machine` has, by its own name; by what it is used as
/// (`sleep`, `timer`) only on a machine whose calls have no names of their own.
///
/// # Errors
/// The machine refuses what it had agreed to.
pub fn every_call(machine: &mut dyn Machine) -> Result<Vec<Call>, Refusal> {
    let generic = [Method::Sleep, Method::Timer];
    let named = |method: &Method| *method != Method::Yield && !generic.contains(method);
    let has = |method: &Method| has(machine, *method);
    let mut methods: Vec<Method> = Method::ALL.into_iter().filter(named).filter(has).collect();
    if methods.is_empty() {
        methods = generic.into_iter().filter(has).collect();
    }
    let tried = |method| Call::tried(machine, method);
    methods.into_iter().map(tried).collect()
}

/// The calls that `machine`, with these `facts`, uses to sleep and as its timer.
///
/// # Errors
/// The machine refuses what it had agreed to.
pub fn usual_calls(machine: &mut dyn Machine, facts: &MachineFacts) -> Result<Vec<Call>, Refusal> {
    let named = [&facts.sleep_method, &facts.timer_method].map(|name| name.parse().ok());
    let methods = there(machine, named);
    let tried = |method| Call::tried(machine, method);
    methods.into_iter().map(tried).collect()
}
