//! Runs a scenario.

use punctual_program::Machine;
use punctual_record::{Expectation, Measurement, Run};
use punctual_sim::{Limits, Model, SimMachine, Trace};

use super::seen::Seen;
use super::{Scenario, describe, judge, limits, machine_facts};

/// What a simulation of a scenario may come to: some minutes of real time, and
/// some hundred megabytes.
pub const LIMITS: Limits = Limits {
    steps: 1 << 31,
    // The director is one more.
    threads: limits::THREADS as usize + 1,
    samples: 1 << 22,
};

/// What came out of a scenario on one machine.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Phase by phase: one for each name of threads, and one of the computer.
    pub measurements: Vec<Measurement>,
    /// What the scenario says should come out of it on this model; on another
    /// machine its sources say nothing.
    pub expectations: Vec<Expectation>,
    /// Whether the user ended it before its end; what was measured until then is
    /// there.
    pub interrupted: bool,
    /// What happened, if that was asked for.
    pub trace: Option<Trace>,
}

/// Says whether `model` can run `scenario`.
///
/// # Errors
/// Says in one line what the model cannot do.
pub fn check(scenario: &Scenario, model: &Model) -> Result<(), String> {
    let machine = SimMachine::new(model.clone(), 0);
    machine
        .check(&scenario.program)
        .map_err(|why| format!("{}: {why}", scenario.name))
}

/// Runs `scenario` on `model`, within [`LIMITS`].
///
/// # Errors
/// Says in one line what the model cannot do, or which limit was met.
pub fn run(scenario: &Scenario, model: &Model, seed: u64, traced: bool) -> Result<Ran, String> {
    check(scenario, model)?;
    let mut machine = machine(model, seed);
    let ran = if traced {
        let ran = machine.run_traced(&scenario.program);
        ran.map(|(observations, trace)| (observations, Some(trace)))
    } else {
        machine
            .run(&scenario.program)
            .map(|observations| (observations, None))
    };
    let (observations, trace) = ran.map_err(|why| on_model(scenario, model, &why))?;
    let seen = Seen::of(scenario, &observations);
    Ok(Ran {
        measurements: seen.measurements(scenario, model.name()),
        expectations: judge::expectations(scenario, model.name(), &seen),
        interrupted: observations.interrupted,
        trace,
    })
}

/// The Run of a `command` that runs `scenario` on each of `models`, which `begun` is told of as
/// it begins with them; and what happened on the last, if that was asked for.
///
/// # Errors
/// As [`run`].
pub fn simulate(
    (scenario, models, seed): (&Scenario, &[Model], u64),
    traced: bool,
    command: String,
    mut begun: impl FnMut(&Model),
) -> Result<(Run, Option<Trace>), String> {
    let mut whole = Run {
        machine: machine_facts(models),
        other: describe(scenario, models, seed),
        ..Run::new(command)
    };
    let mut trace = None;
    for model in models {
        begun(model);
        let ran = run(scenario, model, seed, traced)?;
        whole.results.extend(ran.measurements);
        whole.beside.expectations.extend(ran.expectations);
        trace = ran.trace;
    }
    Ok((whole, trace))
}

/// Runs `scenario` on a machine that is called `name`. What its sources expect
/// is of models, so nothing is expected here.
///
/// # Errors
/// Says in one line what the machine cannot do.
pub fn run_on(scenario: &Scenario, machine: &mut dyn Machine, name: &str) -> Result<Ran, String> {
    let observations = machine
        .run(&scenario.program)
        .map_err(|why| format!("{} on {name}: {why}", scenario.name))?;
    Ok(Ran {
        measurements: Seen::of(scenario, &observations).measurements(scenario, name),
        interrupted: observations.interrupted,
        ..Ran::default()
    })
}

/// The computer on which scenarios run.
pub(super) fn machine(model: &Model, seed: u64) -> SimMachine {
    SimMachine::new(model.clone(), seed).with_limits(LIMITS)
}

/// An error on a model, in one line.
pub(super) fn on_model(scenario: &Scenario, model: &Model, why: &dyn std::fmt::Display) -> String {
    format!("{} on {}: {why}", scenario.name, model.name())
}
