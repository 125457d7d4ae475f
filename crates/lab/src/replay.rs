//! Recordings of naps as models, and the regimes of `bench regimes` as programs for those.

use punctual_core::{Lateness, Method, Nanos, Rate, StrategySpec};
use punctual_program::machine::Section;
use punctual_program::program::{Due, Op, Subject};
use punctual_program::{Machine, Program, Refusal};
use punctual_record::experiment::Naps;
use punctual_record::{Measurement, OfExperiment, Run};
use punctual_sim::rules::Bank;
use punctual_sim::{Model, SimMachine};

use crate::regimes::Regime;
use crate::regimes::script::{self, Script};

/// A model with the naps that a Run has of `bench naps`, and their calls as what
/// `sleep` and `timer` mean.
///
/// # Errors
/// It lacks something of that.
pub fn model(name: &str, run: &Run) -> Result<Model, String> {
    recorded(name, run, banks(run)?)
}

/// The naps that a Run has.
///
/// # Errors
/// They are of unknown calls.
pub fn banks(run: &Run) -> Result<Vec<Bank>, String> {
    let bank = |m: &Measurement, of: &Naps| {
        let late = m.samples_late_ns.iter();
        Ok(Bank {
            method: of.method.parse()?,
            asked: Nanos::new(of.asked_ns),
            overshoots: late.copied().map(Lateness::new).collect(),
            cpu: m.cpu.per_wait_ns.map(|ns| Nanos::new(ns as u64)),
        })
    };
    let naps = run.results.iter();
    naps.filter_map(|m| Some(bank(m, Naps::of(m)?))).collect()
}

/// The same model with these naps instead.
///
/// # Errors
/// As [`model`].
pub fn recorded(name: &str, run: &Run, banks: Vec<Bank>) -> Result<Model, String> {
    let [sleep, timer] = [&run.machine.sleep_method, &run.machine.timer_method];
    let named = |name: &str| name.parse::<Method>();
    Model::recorded_naps(name, banks, named(sleep)?, named(timer)?)
}

/// Waits of a regime of [`bench regimes`](crate::regimes) as a program.
#[derive(Clone, Debug)]
pub struct Course {
    /// Waits before those that count.
    warm_up: Vec<Op>,
    /// The waits that count.
    counted: Vec<Op>,
    /// The lengths of these.
    lengths: Vec<Nanos>,
}

impl Course {
    /// A number of waits that do not count, and a number that do; `seed` is that of their lengths.
    pub fn new(regime: Regime, seed: u64, warm_up: usize, counted: usize) -> Self {
        let mut script = Script::new(regime, seed);
        let mut dues = |count| -> Vec<_> { (0..count).map(|_| script.next().due).collect() };
        let (warm_up, counted) = (dues(warm_up), dues(counted));
        let length = |due: &script::Due| match due {
            script::Due::Cycle(length) | script::Due::After(length) => Nanos::from(*length),
        };
        Self {
            warm_up: ops(&warm_up),
            lengths: counted.iter().map(length).collect(),
            counted: ops(&counted),
        }
    }

    /// The program of who waits so, and has `before` it what that is.
    pub fn program(&self, spec: StrategySpec, before: &[Op]) -> Program {
        let mut ops = before.to_vec();
        ops.extend_from_slice(&self.warm_up);
        ops.push(Op::Record);
        ops.extend_from_slice(&self.counted);
        Program::of(Subject::Strategy(spec), ops)
    }

    /// The lengths of the waits that count.
    pub fn lengths(&self) -> &[Nanos] {
        &self.lengths
    }

    /// The observations of the waits that count.
    ///
    /// # Errors
    /// The model refuses the program.
    pub fn run(model: &Model, seed: u64, program: &Program) -> Result<Section, Refusal> {
        let mut seen = SimMachine::new(model.clone(), seed).run(program)?;
        let section = seen.threads[0].sections.pop();
        Ok(section.unwrap_or_else(|| unreachable!()))
    }
}

/// The operations that wait like this, those of one period in a loop.
fn ops(dues: &[script::Due]) -> Vec<Op> {
    let alike = |part: &[script::Due]| match part[0] {
        script::Due::After(length) => {
            vec![Op::wait(Due::After(length.into())); part.len()]
        }
        script::Due::Cycle(period) => vec![
            Op::Pace(Rate::from_period(period.into()).unwrap_or_else(|why| unreachable!("{why}"))),
            Op::repeat(part.len() as u64, [Op::wait(Due::NextCycle)]),
        ],
    };
    dues.chunk_by(|a, b| a == b).flat_map(alike).collect()
}
