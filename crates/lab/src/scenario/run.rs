//! Runs a scenario, and compares what came out with what is expected.

use std::collections::{BTreeMap, BTreeSet};

use punctual_core::Nanos;
use punctual_program::machine::Denial;
use punctual_program::{Machine, Observations};
use punctual_record::{Expectation, Findings, Measurement, NotDone, Run};
use punctual_sim::{Limits, Model, SimMachine, Trace};

use super::expect::{Digits, Expect, Figure, Scope, Series, Stat, Unit};
use super::seen::{COMPUTER, Seen, computer_figure};
use super::{Scenario, limits, machine_facts, of_model};

/// The limits of a simulated scenario: some minutes of real time, and some hundred megabytes.
pub const LIMITS: Limits = Limits {
    steps: 1 << 31,
    // The director is one more.
    threads: limits::THREADS as usize + 1,
    samples: 1 << 22,
};

/// The result of a scenario on one machine.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Phase by phase: one for each name of threads, and one of the computer.
    pub measurements: Vec<Measurement>,
    /// The scenario's expectations on this model; its sources say nothing about other machines.
    pub expectations: Vec<Expectation>,
    /// Settings that were refused, and so stayed unchanged.
    pub denied: Vec<NotDone>,
    /// Whether the user ended it before its end; what was measured until then is
    /// there.
    pub interrupted: bool,
    /// The trace, if it was asked for.
    pub trace: Option<Trace>,
}

/// Says whether `model` can run `scenario`.
///
/// # Errors
/// Says in one line what the model cannot do.
pub fn check(scenario: &Scenario, model: &Model) -> Result<(), String> {
    let machine = SimMachine::new(model.clone(), 0);
    machine
        .check(&scenario.program_on(model))
        .map_err(|why| format!("{}: {why}", scenario.name))
}

/// Runs `scenario` on `model`, within [`LIMITS`].
///
/// # Errors
/// Says in one line what the model cannot do, or which limit was met.
pub fn run(scenario: &Scenario, model: &Model, seed: u64, traced: bool) -> Result<Ran, String> {
    run_watched((scenario, model, seed), traced, &mut |_| {})
}

/// The same, with a callback now and then that gets the virtual time.
fn run_watched(
    (scenario, model, seed): (&Scenario, &Model, u64),
    traced: bool,
    watch: &mut (dyn FnMut(Nanos) + Send),
) -> Result<Ran, String> {
    check(scenario, model)?;
    let mut machine = machine(model, seed);
    let program = scenario.program_on(model);
    let ran = machine.run_watched(&program, traced, watch);
    let (observations, trace) = ran.map_err(|why| on_model(scenario, model, &why))?;
    let seen = Seen::of(scenario, &observations);
    Ok(Ran {
        measurements: seen.measurements(scenario, model.name()),
        expectations: expectations(scenario, model.name(), &seen),
        denied: denied(&observations),
        interrupted: observations.interrupted,
        trace,
    })
}

/// The Run of a `command` that runs `scenario` on each of `models`. `begun` is called as each
/// begins, and then now and then with the virtual time. It also returns the expectations that are
/// not checked on these, and the trace of the last, if that was asked for.
///
/// # Errors
/// As [`run`].
pub fn simulate(
    (scenario, models, seed): (&Scenario, &[Model], u64),
    traced: bool,
    command: String,
    mut watch: impl FnMut(&Model, Nanos) + Send,
) -> Result<(Run, Option<NotDone>, Option<Trace>), String> {
    let mut whole = Run {
        machine: machine_facts(models),
        beside: Findings {
            scenario: Some(scenario.facts()),
            models: models.iter().map(of_model).collect(),
            seed: Some(seed),
            ..Findings::default()
        },
        ..Run::new(command)
    };
    let mut trace = None;
    for model in models {
        watch(model, Nanos::ZERO);
        let mut watch = |gone_by| watch(model, gone_by);
        let ran = run_watched((scenario, model, seed), traced, &mut watch)?;
        whole.results.extend(ran.measurements);
        whole.beside.expectations.extend(ran.expectations);
        trace = ran.trace;
    }
    Ok((whole, of_other_models(scenario, models), trace))
}

/// That something is expected of none of these models, if so: it would pass unseen.
fn of_other_models(scenario: &Scenario, models: &[Model]) -> Option<NotDone> {
    let is_run = |on: &str| models.iter().any(|model| model.name() == on);
    let expects = scenario.expects.iter();
    let on = expects.filter_map(|expect| expect.on.as_deref());
    let mut others: Vec<&str> = on.filter(|on| !is_run(on)).collect();
    let n = others.len();
    others.sort_unstable();
    others.dedup();
    (n > 0).then(|| NotDone::Expectations {
        n,
        of: scenario.expects.len(),
        models: others.into_iter().map(str::to_owned).collect(),
    })
}

/// Runs `scenario` on a machine that is called `name`. The expectations of its sources are of
/// models, so none is checked here.
///
/// # Errors
/// Says in one line what the machine cannot do.
pub fn run_on(scenario: &Scenario, machine: &mut dyn Machine, name: &str) -> Result<Ran, String> {
    let observations = machine
        .run(&scenario.program)
        .map_err(|why| format!("{} on {name}: {why}", scenario.name))?;
    Ok(Ran {
        measurements: Seen::of(scenario, &observations).measurements(scenario, name),
        denied: denied(&observations),
        interrupted: observations.interrupted,
        ..Ran::default()
    })
}

/// The settings that threads were refused, each with the threads.
fn denied(observations: &Observations) -> Vec<NotDone> {
    let mut who: BTreeMap<&Denial, BTreeSet<&str>> = BTreeMap::new();
    for thread in &observations.threads {
        for denial in &thread.denials {
            who.entry(denial).or_default().insert(&thread.name);
        }
    }
    let not_done = |(denial, who): (&Denial, BTreeSet<&str>)| NotDone::Setting {
        name: denial.setting.clone(),
        threads: who.into_iter().map(str::to_owned).collect(),
        why: denial.why.clone(),
    };
    who.into_iter().map(not_done).collect()
}

/// The computer on which scenarios run.
pub(super) fn machine(model: &Model, seed: u64) -> SimMachine {
    SimMachine::new(model.clone(), seed).with_limits(LIMITS)
}

/// An error on a model, in one line.
pub(super) fn on_model(scenario: &Scenario, model: &Model, why: &dyn std::fmt::Display) -> String {
    format!("{} on {}: {why}", scenario.name, model.name())
}

/// Everything that is expected on the model `on`.
pub(super) fn expectations(scenario: &Scenario, on: &str, seen: &Seen) -> Vec<Expectation> {
    let holds_here = |expect: &&Expect| expect.on.as_deref().is_none_or(|model| model == on);
    let expects = scenario.expects.iter().filter(holds_here);
    let judged = expects.flat_map(|expect| {
        let phases = phases(scenario, expect, seen).into_iter();
        phases.map(|phase| judge(scenario, expect, on, phase, seen))
    });
    judged.collect()
}

/// The phases in which something is expected: the one that is named, or each
/// in which the threads are there to be looked at; of none, the first, so that
/// nothing passes unseen.
fn phases(scenario: &Scenario, expect: &Expect, seen: &Seen) -> Vec<usize> {
    if let Some(phase) = expect.phase {
        return vec![phase];
    }
    let all = 0..scenario.phases.len();
    let with: Vec<usize> = all.filter(|k| got(expect, *k, seen).is_some()).collect();
    if with.is_empty() { vec![0] } else { with }
}

fn got(expect: &Expect, phase: usize, seen: &Seen) -> Option<f64> {
    match &expect.of {
        Some(of) => {
            let mut groups = seen.groups.get(phase)?.iter();
            let (_, group) = groups.find(|(name, _)| name == of)?;
            group.figure(expect.what)
        }
        None => computer_figure(seen.computer.get(phase)?, expect.what),
    }
}

fn judge(scenario: &Scenario, expect: &Expect, on: &str, phase: usize, seen: &Seen) -> Expectation {
    let unit = expect.what.unit();
    let got = got(expect, phase, seen);
    let digits = got.map_or(Digits::Few, |got| expect.target.digits_beside(got, unit));
    Expectation {
        on: on.to_owned(),
        phase: scenario.phases[phase].name.clone(),
        subject: expect.of.clone().unwrap_or_else(|| COMPUTER.to_owned()),
        figure: expect.what.name().to_owned(),
        expected: in_unit(unit, |by| expect.target.times(by).written(unit, digits)),
        got: got.map_or_else(
            || nothing(expect.what).to_owned(),
            |value| in_unit(unit, |by| unit.written(value * by, digits)),
        ),
        holds: got.is_some_and(|value| expect.target.holds(value)),
        stated: expect.on.is_some() || scenario.on.iter().any(|own| own == on),
        source: expect.source.clone(),
    }
}

fn nothing(figure: Figure) -> &'static str {
    match figure {
        Figure::Reading(_) => "nothing was read",
        Figure::Of(_, Stat::P90) => "fewer than ten samples lie above a p90",
        Figure::Of(_, Stat::P99) => "fewer than ten samples lie above a p99",
        Figure::Of(_, Stat::P999) => "fewer than ten samples lie above a p99.9",
        Figure::Of(_, Stat::Sd) => "fewer than two samples have no standard deviation",
        Figure::Of(Series::Signal, _) => "no event ended a wait",
        _ if figure.scope() != Scope::Threads => "this model has no CPUs to count",
        _ => "nothing was seen",
    }
}

/// With its unit, shares in per cent: `written` writes so many times as much.
fn in_unit(unit: Unit, written: impl Fn(f64) -> String) -> String {
    match unit {
        Unit::Length | Unit::Number => written(1.0),
        Unit::PerSecond => format!("{} /s", written(1.0)),
        Unit::Share => format!("{} %", written(100.0)),
    }
}
