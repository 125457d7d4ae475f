//! `punctual zero probe`.

pub(crate) mod args;

use anyhow::{Context, Result, bail};
use punctual_record::Run;
use punctual_zero::probe::{Part, Plan, Probed, Settings, memory_facts, warnings};

use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::{Done, host, say, stop};
use args::{PartArg, ProbeArgs};

/// Runs it.
pub(crate) fn run(args: &ProbeArgs) -> Result<Done> {
    let settings = settings(args)?;
    let mut plan = Plan::of(&settings, host::page_process()?, stop::on_ctrl_c()?)?;
    let outputs = Outputs::new(&args.output)?;
    let mut facts = session::host_facts();
    facts.other.extend(memory_facts());
    let started_at = session::now();

    for left_out in plan.left_out() {
        say!("{}", left_out.what);
    }
    say!(
        "zero probe: touches {} once beforehand",
        plan.memory_in_words()
    );
    plan.warm_up().with_context(|| {
        let memory = plan.memory_in_words();
        format!("there is not enough memory to touch {memory}, give a smaller --memory-limit")
    })?;
    say!(
        "zero probe: {} turns in {}, {}",
        plan.turns(),
        session::rounds(plan.rounds()),
        session::about(plan.length(), false)
    );
    let run = Run {
        started_at: Some(started_at),
        other: plan.describe(),
        ..session::run()
    };
    let (mut warned, rounds) = (plan.left_out().to_vec(), plan.rounds());

    let mut bar = Progress::alike(plan.turns());
    let Probed {
        measurements,
        disturbance,
        end,
    } = plan.run(&mut |progress| bar.at(progress.done, &progress.next));
    drop(bar);

    warned.extend(warnings(&facts, &measurements, rounds));
    let run = Run {
        interrupted: end.is_early(),
        failed: end.failed.as_ref().map(ToString::to_string),
        warnings: warned,
        machine: facts,
        results: measurements,
        ..run
    };
    let run = session::disturbed(run, disturbance);
    outputs.deliver_until(end.failed, &run, &punctual_report::text(&run))
}

fn settings(args: &ProbeArgs) -> Result<Settings> {
    let parts = &args.parts;
    if let Some(twice) = (1..parts.len()).find(|&i| parts[..i].contains(&parts[i])) {
        bail!("`{}` is named twice", parts[twice].part().name());
    }
    let processes = parts.is_empty() || parts.contains(&PartArg::Processes);
    if args.iterations.is_some() && !processes {
        bail!("--iterations is for `processes`: name it too, or leave --iterations out");
    }
    let mut named: Vec<Part> = parts.iter().map(|part| part.part()).collect();
    if named.is_empty() {
        named = Part::ALL.to_vec();
    }
    Ok(Settings {
        parts: named,
        quick: args.effort.quick,
        rounds: args.effort.rounds,
        memory_limit: args.memory_limit,
        iterations: args.iterations,
    })
}
