//! `punctual bench`.

mod plan;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use punctual_core::{Machine, Nanos};
use punctual_lab::experiments::robustness;
use punctual_lab::host::HostMachine;
use punctual_lab::race::{self, Results};
use punctual_lab::{
    Setting, clairvoyant, host_facts, learned, model_facts, predict, robustness_facts,
    rule_in_force, warnings,
};
use punctual_record::{MachineFacts, Run, SCHEMA};
use punctual_sim::{Model, SimMachine};

use crate::args::{BenchArgs, Experiment, command_line};
use crate::files::{self, Target};
use crate::{Done, peers, print, stop};

use plan::Plan;

/// Runs the command.
pub(crate) fn run(args: &BenchArgs) -> Result<Done> {
    let (mut machine, facts) = machine(args)?;
    let plan = Plan::of(args, &*machine, &facts)?;
    // Whatever is refused is refused before anything is announced or made.
    plan.check(&*machine)?;
    let json = args.json.as_deref().map(Target::new).transpose()?;
    if let Some(plots) = &args.plots {
        files::directory(plots)?;
    }
    let started_at = args.runs_here().then(|| {
        jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string()
    });
    plan.announce(!args.runs_here());

    let mut results = Results::default();
    for part in &plan.races {
        if results.interrupted {
            break;
        }
        let bar = progress_bar(part.heats.len() * part.rounds as usize);
        let raced = race::run(&mut *machine, &part.heats, part.rounds, &mut |progress| {
            bar.set_position(progress.done as u64);
            bar.set_message(format!(
                "{} {}",
                progress.next.experiment, progress.next.subject
            ));
        });
        bar.finish_and_clear();
        let mut raced = raced?;
        if args.runs_here()
            && let Some(rule) = rule_in_force()
        {
            predict(&rule, &part.heats, part.rounds, &mut raced.measurements)?;
        }
        if let Some(recording) = args.on.as_ref().and_then(Model::recording) {
            clairvoyant::compare(recording, &mut raced.measurements);
        }
        results.measurements.extend(raced.measurements);
        results.finishers.extend(raced.finishers);
        results.interrupted |= raced.interrupted;
    }
    if plan.robustness && !results.interrupted {
        let machine = &mut |period| fake(period, args.seed());
        let mut simulated = robustness::run(&plan.strategies, machine)?;
        if facts.name != robustness_facts().name {
            for measurement in &mut simulated {
                let model = robustness_facts().name.into();
                measurement.other.insert("simulated_on".to_owned(), model);
            }
        }
        results.measurements.extend(simulated);
    }

    let run = as_run(args, &plan, facts, started_at, results);
    let text = if args.explain {
        punctual_report::explained(&run)
    } else {
        punctual_report::text(&run)
    };
    let printed = print(&text);
    if let Some(json) = json {
        json.write(&run.to_json())?;
    }
    if let Some(plots) = &args.plots {
        files::figures(plots, &run)?;
    }
    printed?;
    Ok(if run.interrupted {
        Done::Interrupted
    } else {
        Done::Whole
    })
}

fn machine(args: &BenchArgs) -> Result<(Box<dyn Machine>, MachineFacts)> {
    Ok(match &args.on {
        _ if args.experiment == Some(Experiment::Robustness) => {
            (fake(Nanos::from_ms(1), args.seed()), robustness_facts())
        }
        Some(model) => (
            Box::new(SimMachine::new(model.clone(), args.seed())),
            model_facts(model),
        ),
        None => {
            let stop = stop::on_ctrl_c()?;
            (
                Box::new(peers::register(HostMachine::new(stop))),
                host_facts(),
            )
        }
    })
}

fn fake(period: Nanos, seed: u64) -> Box<dyn Machine> {
    let model = Model::fake(period).expect("the article's periods are 1 to 10 ms");
    // Each period has chances of its own, or they would all tell one story.
    Box::new(SimMachine::new(model, seed ^ period.as_ns()))
}

fn as_run(
    args: &BenchArgs,
    plan: &Plan,
    facts: MachineFacts,
    started_at: Option<String>,
    results: Results,
) -> Run {
    let setting = Setting {
        rounds: plan.races.iter().map(|race| race.rounds).min().unwrap_or(0),
        hogs: plan.conditions.hogs,
        simulated: !args.runs_here(),
    };
    Run {
        schema: SCHEMA.to_owned(),
        punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        command: command_line(),
        interrupted: results.interrupted,
        warnings: warnings(&facts, &results.measurements, setting),
        machine: facts,
        results: results.measurements,
        learned: learned(&results.finishers),
        other: plan.describe(args),
        ..Run::default()
    }
}

/// A bar that is drawn between batches only: a steady tick would wake this
/// process in the middle of a measurement.
fn progress_bar(batches: usize) -> ProgressBar {
    let bar = ProgressBar::new(batches as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
