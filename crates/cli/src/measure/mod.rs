//! `punctual measure`.

pub(crate) mod args;
mod live;
mod plan;

use anyhow::{Result, anyhow};
use punctual_lab::plan::Interleaved;
use punctual_lab::plan::measure::{Measured as Planned, PlannedExperiment, Predicted, What};
use punctual_lab::rounds::{End, Results};
use punctual_lab::{predict, predict_timers, rule_in_force, scenario};
use punctual_program::{Machine, Refusal};
use punctual_record::{MachineFacts, Run, Warning};

use crate::Done;
use crate::progress::Progress;
use crate::session::{self, Outputs};
use args::MeasureArgs;
use plan::MeasurePlan;

/// Runs the command.
pub(crate) fn run(args: &MeasureArgs) -> Result<Done> {
    let here = args.place.is_here();
    let mut on = session::machine(args.place.on.as_ref(), args.place.seed())?;
    let plan = MeasurePlan::of(args, &mut *on.machine, &on.facts)?;
    let outputs = Outputs::new(&args.output)?;
    let started_at = here.then(session::now);
    plan.announce(!here);

    let mut results = Results::default();
    let mut warnings = plan.left_out.clone();
    let mut progress = plan.progress();
    for part in &plan.parts {
        match measure(part, &mut *on.machine, &on.facts, here, &mut progress) {
            Ok((more, denied)) => {
                results.extend(more);
                warnings.extend(denied);
            }
            Err(why) => {
                let failed = format!("{}: {why:#}", part.name);
                results.end.failed = Some(Refusal::new(failed));
            }
        }
        if results.end.is_early() {
            break;
        }
    }
    drop(progress);
    let failed = results.end.failed.clone();
    let run = Run {
        warnings,
        other: plan.describe(args),
        ..session::run_of(results, started_at)
    };
    let rounds = plan.parts.iter().filter_map(PlannedExperiment::rounds);
    let run = on.warned(run, rounds.min().unwrap_or(0));
    outputs.deliver_until(failed, &run, &args.shown.of(&run))
}

/// Measures, and says what could not be set.
fn measure(
    part: &PlannedExperiment,
    machine: &mut dyn Machine,
    facts: &MachineFacts,
    here: bool,
    progress: &mut Progress,
) -> Result<(Results, Vec<Warning>)> {
    match &part.what {
        What::Interleaved(planned) => Ok((compete(planned, machine, here, progress)?, vec![])),
        What::Scenario(scenario) => {
            progress.next(&part.name, scenario.length());
            let ran = scenario::run_on(scenario, machine, &facts.name);
            let ran = ran.map_err(|why| anyhow!(why))?;
            let results = Results {
                measurements: ran.measurements,
                end: End {
                    interrupted: ran.interrupted,
                    failed: None,
                },
                ..Results::default()
            };
            Ok((results, ran.warnings))
        }
    }
}

fn compete(
    planned: &Planned,
    machine: &mut dyn Machine,
    here: bool,
    progress: &mut Progress,
) -> Result<Results> {
    let Interleaved { cases, rounds } = &planned.interleaved;
    let mut raced = (planned.run)(machine, cases, *rounds, &mut |now| progress.case(now.next))?;
    match (planned.predicted, rule_in_force().filter(|_| here)) {
        (Predicted::Once, Some(rule)) => predict(&rule, cases, *rounds, &mut raced.measurements)?,
        (Predicted::InEachRound, Some(_)) => predict_timers(cases, &mut raced.measurements)?,
        _ => {}
    }
    Ok(raced)
}
