//! `punctual simulate`.

mod article;
pub(crate) mod list;
pub(crate) mod validate;

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use punctual_core::Nanos;
use punctual_lab::chrome_trace;
use punctual_lab::scenario::{self, Question, Scenario, shipped};
use punctual_record::Warning;
use punctual_report::not_done;
use punctual_sim::{Limits, Model, Trace};

use crate::bench::{BenchArgs, Experiment};
use crate::files::Target;
use crate::options::{Output, Place, refuse};
use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::values::{model, seed};
use crate::{Done, bench, print, say};
use list::{Found, find};

/// Runs the command.
pub(crate) fn run(args: &SimulateArgs) -> Result<Done> {
    if args.list {
        print(&list::text())?;
        return Ok(Done::Whole);
    }
    if let Some(ids) = &args.validate {
        return validate::run(ids);
    }
    if args.scenario.as_deref() == Some("article") {
        return article::run(args);
    }
    if let Some(article) = &args.article {
        bail!("{article} is an article: simulate article {article}");
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
    let models: Result<Vec<Model>, _> = match args.on.is_empty() {
        true => scenario.on.iter().map(|name| model(name)).collect(),
        false => Ok(args.on.clone()),
    };
    let models = models.map_err(|why| anyhow!(why))?;
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
    let (mut run, unchecked, trace) = scenario::simulate(
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
    run.warnings.extend(unchecked.as_ref().map(not_done));
    run.warnings.extend(trace.as_ref().and_then(cut));

    let delivered = outputs.answer(&run);
    if let (Some(to), [model], Some(trace)) = (trace_to, models, trace) {
        to.write(&chrome_trace(scenario, model.name(), &trace))?;
    }
    delivered?;
    let mut expected = run.beside.expectations.iter();
    Ok(Done::of(expected.all(|e| e.holds || !e.stated)))
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

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Run a scenario on simulated computers, in virtual time.

A scenario is a TOML file: phases, processes with their actions, the models to run on, and the results that its sources \
state. The report puts the models side by side. It says how often each thread wakes, how long its sleeps are, and what it \
reads of the OS. It also says what the computer does meanwhile, and whether all that is as stated. The same scenario, \
model and seed give the same bytes everywhere.";

/// The end of its help.
pub(crate) fn after() -> String {
    let Limits { steps, samples, .. } = scenario::LIMITS;
    let threads = scenario::THREADS;
    let scenarios: Vec<_> = shipped::ALL.iter().map(|shipped| shipped.name).collect();
    format!(
        "\
Scenarios, with titles in --list: {}, and robustness, which is `bench robustness`. Any other name is the path of a file.

Articles: `simulate article NAME` goes through the claims of one of four articles: timers (the timer-rule article, \
Bruce Dawson, 2020), zeroing (the page-zeroing article, Bruce Dawson, 2022), sleep (the accurate-sleep article, 2022), \
scheduling (the thread-scheduling article, 2024).

Limits: a simulation is given up after {steps} steps or {samples} sleeps and readings. A file has at most 256 KiB, \
starts at most {threads} threads and lasts at most a week of virtual time.

Exit codes: 0 done and as stated, 1 a result is not as stated, 2 could not run. On a model that the scenario does not \
name, differences are shown, and the exit code is 0.

Examples:
  punctual simulate article timers
  punctual simulate --list
  punctual simulate lowest-request-wins
  punctual simulate lowest-request-wins --on windows-10-2004
  punctual simulate linux-slack-sweep --on linux,slack=100us --for 1s
  punctual simulate mine.toml --json mine.json --plots figures
  punctual simulate change-interval --on windows-10-2004 --explain measure:100
  punctual simulate game-loop --on linux --trace trace.json",
        scenarios.join(", ")
    )
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The name of a scenario that comes with punctual, or the path of a file (- is standard input)
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["list", "validate"])]
    pub(crate) scenario: Option<String>,

    /// The article, after `article`
    #[arg(value_name = "ARTICLE", value_parser = article::names())]
    pub(crate) article: Option<String>,

    /// Run on this model, with parameters after commas, instead of those of the scenario; can be repeated
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub(crate) on: Vec<Model>,

    /// The seed of the simulation's random numbers [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Stretch or shorten the scenario to this length, all phases in proportion: 500ms, 60s
    #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) length: Option<Nanos>,

    /// Write what happened on one model to a file that Perfetto (ui.perfetto.dev) opens (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Only explain one wake of a thread: its 100th, measure:100, or the first from a time on, measure@1.5s
    ///
    /// The report without --explain has the names of the threads.
    #[arg(long, value_name = "THREAD:N|THREAD@TIME", conflicts_with_all = ["json", "plots", "trace"])]
    pub(crate) explain: Option<Question>,

    /// List the scenarios with their titles, and the models with their parameters
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,

    /// Compare the models with published facts of their systems: all, or those of these names (V02,V10)
    #[arg(long, value_name = "NAMES", num_args = 0.., value_delimiter = ',', exclusive = true)]
    pub(crate) validate: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) output: Output,
}
