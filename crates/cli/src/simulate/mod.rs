//! `punctual simulate`.

pub(crate) mod args;
pub(crate) mod list;
mod validate;

use anyhow::{Result, anyhow, bail};
use punctual_core::Nanos;
use punctual_lab::chrome_trace;
use punctual_lab::scenario::{self, Question, Scenario};
use punctual_record::Warning;
use punctual_sim::{Model, Trace};

use crate::bench::args::{BenchArgs, Experiment};
use crate::files::Target;
use crate::options::{Place, refuse};
use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::{Done, bench, print, say};
use args::SimulateArgs;

use list::{Found, find};

/// Runs the command.
pub(crate) fn run(args: &SimulateArgs) -> Result<Done> {
    if args.list {
        print(&list::text())?;
        return Ok(Done::Whole);
    }
    if args.validate {
        return validate::run();
    }
    match find(args.scenario.as_deref().unwrap_or_default())? {
        Found::Robustness => robustness(args),
        Found::Scenario(scenario) => {
            let scenario = match args.length {
                Some(length) => scenario.with_length(length).map_err(|why| anyhow!(why))?,
                None => *scenario,
            };
            let models = models(args, &scenario)?;
            match &args.explain {
                Some(question) => explain(&scenario, &models, args.seed(), question),
                None => simulate(args, &scenario, &models),
            }
        }
    }
}

impl SimulateArgs {
    fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }
}

/// The models to run on, each of which can run the scenario.
fn models(args: &SimulateArgs, scenario: &Scenario) -> Result<Vec<Model>> {
    let models = if args.on.is_empty() {
        let models = scenario.on.iter().map(|name| crate::models::parse(name));
        models
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| anyhow!(why))?
    } else {
        args.on.clone()
    };
    for (i, model) in models.iter().enumerate() {
        if models[..i].iter().any(|other| other.name() == model.name()) {
            bail!("--on names {} twice", model.name());
        }
        scenario::check(scenario, model).map_err(|why| anyhow!(why))?;
    }
    Ok(models)
}

/// Where the trace goes, if one is asked for and there is one model to trace.
fn trace_target(args: &SimulateArgs, models: &[Model]) -> Result<Option<Target>> {
    if args.trace.is_some() && models.len() > 1 {
        let names: Vec<&str> = models.iter().map(Model::name).collect();
        bail!(
            "--trace is of one model; pick one with --on: {}",
            names.join(" or ")
        );
    }
    args.trace.as_deref().map(Target::new).transpose()
}

fn simulate(args: &SimulateArgs, scenario: &Scenario, models: &[Model]) -> Result<Done> {
    let trace_to = trace_target(args, models)?;
    let outputs = Outputs::new(&args.output)?;
    let all = scenario.length().times(models.len() as u64);
    let mut progress = Progress::new(models.len(), all);
    for model in models {
        let (name, length) = (&scenario.name, scenario.length());
        say!("{name}: {length} of virtual time on {}", model.name());
    }
    let (mut run, trace) = scenario::simulate(
        (scenario, models, args.seed()),
        trace_to.is_some(),
        session::command_line(),
        |model, gone_by| match gone_by {
            Nanos::ZERO => progress.next(model.name(), scenario.length()),
            gone_by => progress.within(model.name(), gone_by),
        },
    )
    .map_err(|why| anyhow!(why))?;
    drop(progress);
    run.warnings.extend(trace.as_ref().and_then(cut));

    let delivered = outputs.deliver(&run, &args.output.of(&run));
    if let (Some(to), [model], Some(trace)) = (trace_to, models, trace) {
        to.write(&chrome_trace(scenario, model.name(), &trace))?;
    }
    delivered?;
    Ok(match run.beside.expectations.iter().all(|e| e.holds) {
        true => Done::Whole,
        false => Done::Differs,
    })
}

fn cut(trace: &Trace) -> Option<Warning> {
    trace.is_cut.then(|| Warning {
        what: format!(
            "The trace ends after {} events, before the end of the scenario.",
            trace.events.len()
        ),
        remedy: "Give the scenario a shorter time with --for.".to_owned(),
    })
}

fn explain(scenario: &Scenario, models: &[Model], seed: u64, question: &Question) -> Result<Done> {
    let mut text = String::new();
    for model in models {
        let why = scenario::explain(scenario, model, seed, question).map_err(|why| anyhow!(why))?;
        text += &format!("{}: {why}\n", model.name());
    }
    print(&text)?;
    Ok(Done::Whole)
}

/// The scenario that is an experiment of `bench` too.
fn robustness(args: &SimulateArgs) -> Result<Done> {
    refuse(
        [
            ("--on", !args.on.is_empty()),
            ("--for", args.length.is_some()),
            ("--trace", args.trace.is_some()),
            ("--explain", args.explain.is_some()),
        ],
        "for robustness; leave it out",
    )?;
    bench::run(&BenchArgs {
        experiment: Some(Experiment::Robustness),
        place: Place {
            seed: args.seed,
            ..Place::default()
        },
        output: args.output.clone(),
        ..BenchArgs::default()
    })
}
