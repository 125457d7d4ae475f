//! `punctual bench`.

pub(crate) mod args;
mod plan;
pub(crate) mod regimes;

use anyhow::Result;
use punctual_core::Nanos;
use punctual_lab::experiments::robustness;
use punctual_lab::rounds::{self, Results};
use punctual_lab::{informed, learned, predict, robustness_facts, rule_in_force};
use punctual_program::Machine;
use punctual_record::{Findings, Run};
use punctual_sim::{Model, SimMachine};

use crate::Done;
use crate::session::{self, Measured, Outputs};
use args::{BenchArgs, Experiment};

use plan::BenchPlan;

/// Runs the command.
pub(crate) fn run(args: &BenchArgs) -> Result<Done> {
    if let Some(Experiment::Regimes(regimes)) = &args.experiment {
        return regimes::run(args, regimes);
    }
    let mut on = machine(args)?;
    let plan = BenchPlan::of(args, &*on.machine, &on.facts)?;
    // Whatever is refused is refused before anything is announced or made.
    plan.check(&*on.machine)?;
    let outputs = Outputs::new(&args.output)?;
    let started_at = args.runs_here().then(session::now);
    plan.announce(!args.runs_here());

    let mut results = Results::default();
    let mut progress = plan.progress();
    for part in &plan.interleaved {
        if results.end.is_early() {
            break;
        }
        let raced = rounds::run(&mut *on.machine, &part.cases, part.rounds, &mut |now| {
            progress.case(now.next);
        });
        let mut raced = match raced {
            Ok(raced) => raced,
            Err(refusal) => {
                results.end.failed = Some(refusal);
                break;
            }
        };
        if args.runs_here()
            && let Some(rule) = rule_in_force()
        {
            predict(&rule, &part.cases, part.rounds, &mut raced.measurements)?;
        }
        if let Some(recording) = args.place.on.as_ref().and_then(Model::recording) {
            informed::compare(recording, &mut raced.measurements);
        }
        results.extend(raced);
    }
    drop(progress);
    if plan.robustness && !results.end.is_early() {
        let machine =
            &mut |period| -> Box<dyn Machine> { Box::new(fake(period, args.place.seed())) };
        let mut simulated = robustness::run(&plan.strategies, machine)?;
        if on.facts.name != robustness_facts().name {
            for measurement in &mut simulated {
                measurement.simulated_on = Some(robustness_facts().name);
            }
        }
        results.measurements.extend(simulated);
    }

    let failed = results.end.failed.clone();
    let run = as_run(args, &plan, on, started_at, results);
    let text = if args.explain {
        punctual_report::explained(&run)
    } else {
        args.output.of(&run)
    };
    outputs.deliver_until(failed, &run, &text)
}

fn machine(args: &BenchArgs) -> Result<Measured> {
    if matches!(args.experiment, Some(Experiment::Robustness)) {
        let machine = fake(Nanos::from_ms(1), args.place.seed());
        return Ok(Measured::simulated(machine, robustness_facts()));
    }
    session::machine(args.place.on.as_ref(), args.place.seed())
}

fn fake(period: Nanos, seed: u64) -> SimMachine {
    let model = Model::fake(period).expect("the article's periods are 1 to 10 ms");
    // Each period has chances of its own, or they would all tell one story.
    SimMachine::new(model, seed ^ period.as_ns())
}

fn as_run(
    args: &BenchArgs,
    plan: &BenchPlan,
    on: Measured,
    started_at: Option<String>,
    results: Results,
) -> Run {
    let run = Run {
        beside: Findings {
            learned: learned(&results.final_states),
            ..Findings::default()
        },
        other: plan.describe(args),
        ..session::run_of(results, started_at)
    };
    on.warned(
        run,
        plan.interleaved
            .iter()
            .map(|interleaved| interleaved.rounds)
            .min()
            .unwrap_or(0),
    )
}
