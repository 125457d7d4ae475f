//! This computer as a whole in each phase, by the counters of its OS.

use std::sync::Mutex;

use punctual_core::Nanos;
use punctual_os::facts::{self, Counters};
use punctual_os::thread::allowed_cpus;
use punctual_os::{Tick, clock, resolution};
use punctual_program::Program;
use punctual_program::machine::{ComputerUse, IdleState};
use punctual_program::program::Op;

use super::lock;

/// The books of the computer. Others use it too: what is counted is everybody.
#[derive(Debug, Default)]
pub(super) struct Computer(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The counts at the begin of the phase; `None` if nothing is counted.
    since: Option<Look>,
    phases: Vec<ComputerUse>,
}

impl Computer {
    /// The books of an experiment that has a time line. Any other does not look
    /// at the computer: reading its counters takes a while.
    pub(super) fn of(program: &Program) -> Self {
        let mut has_timeline = false;
        program.visit(&mut |op| has_timeline |= matches!(op, Op::Until(_) | Op::Phase));
        Self(Mutex::new(Inner {
            since: has_timeline.then(Look::now),
            phases: Vec::new(),
        }))
    }

    /// Begins the first phase.
    pub(super) fn begin(&self) {
        let mut inner = lock(&self.0);
        if inner.since.is_some() {
            inner.since = Some(Look::now());
        }
    }

    /// Ends a phase.
    pub(super) fn end_phase(&self) {
        let mut inner = lock(&self.0);
        if let Some(since) = inner.since.take() {
            let now = Look::now();
            inner.phases.extend(now.after(&since));
            inner.since = Some(now);
        }
    }

    /// The counts of each phase; empty where this system does not tell.
    pub(super) fn phases(self) -> Vec<ComputerUse> {
        std::mem::take(&mut lock(&self.0).phases)
    }
}

/// The values of the counters.
#[derive(Debug)]
struct Look {
    at: Tick,
    counters: Option<Counters>,
}

impl Look {
    fn now() -> Self {
        Self {
            at: clock::now(),
            counters: facts::counters(),
        }
    }

    /// The difference between then and this.
    fn after(&self, then: &Self) -> Option<ComputerUse> {
        let interval = resolution::query().ok().map(|stated| stated.current);
        let elapsed = self.at.since(then.at);
        let Some((now, then)) = self.counters.as_ref().zip(then.counters.as_ref()) else {
            // Where there is an interval, that at least.
            return interval.map(|interval| ComputerUse {
                elapsed,
                cpus: allowed_cpus().len(),
                interval: Some(interval),
                ..ComputerUse::default()
            });
        };
        let states = idle_states(now, then);
        let wakeups = states.iter().map(|state| state.entered).sum();
        Some(ComputerUse {
            elapsed,
            cpus: now.cpus.len(),
            busy: Some(busy(now) - busy(then)),
            interrupts: more(now.timer_interrupts, then.timer_interrupts),
            switches: more(now.context_switches, then.context_switches),
            wakeups: (!states.is_empty()).then_some(wakeups),
            idle_states: states,
            energy_uj: None,
            interval,
            ..ComputerUse::default()
        })
    }
}

fn busy(counters: &Counters) -> Nanos {
    let cpus = counters.cpus.iter();
    cpus.fold(Nanos::ZERO, |sum, cpu| sum + cpu.busy)
}

/// By how much a counter went on. One that is smaller than before belongs to a
/// CPU that was switched off in between.
fn more(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(then?))
}

fn idle_states(now: &Counters, then: &Counters) -> Vec<IdleState> {
    let states = now.idle_states.iter().filter_map(|now| {
        let then = then.idle_states.iter().find(|s| s.name == now.name)?;
        Some(IdleState {
            name: now.name.clone(),
            entered: now.entered.saturating_sub(then.entered),
            total: now.total - then.total,
        })
    });
    states.collect()
}
