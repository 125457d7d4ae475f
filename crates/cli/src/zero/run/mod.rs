//! `punctual zero run`.

pub(crate) mod args;
mod kernels;

use anyhow::{Result, bail};
use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_record::Run;
use punctual_zero::model::{Agreement, Forecast, Forecasts, TARGET_MEAN, TARGET_WORST, agreement};
use punctual_zero::run::{Bursts, Memory, Plan, Ran, Settings, facts, warnings};

use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::{Done, say, stop};
use args::{Arrivals, RunArgs};

/// The time from one run of Windows' zero page threads to the next, as the
/// page-zeroing article saw it.
const USUALLY_EVERY: Nanos = Nanos::from_secs(2);

/// Runs it.
pub(crate) fn run(args: &RunArgs) -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    let mut plan = Plan::of(&settings(args)?, stop.clone())?;
    let outputs = Outputs::new(&args.output)?;
    let mut facts_here = session::host_facts();
    facts_here.other.extend(facts());
    let started_at = session::now();

    touch(&mut plan)?;
    let mut forecasts = match args.predict {
        true => Some(Forecasts::of(&plan)?),
        false => None,
    };
    let calibration = forecasts.as_ref().map_or(Nanos::ZERO, Forecasts::length);
    announce(&plan, calibration);
    let mut bar = Progress::alike(plan.batches());
    let Ran {
        mut measurements,
        given_up,
        disturbance,
        end,
    } = plan.run(&mut |progress| {
        if let Some(forecasts) = &mut forecasts {
            forecasts.before(&progress);
        }
        bar.at(progress.done, &progress.next);
    });
    drop(bar);
    let mut run = Run {
        started_at: Some(started_at),
        interrupted: end.is_early(),
        failed: end.failed.as_ref().map(ToString::to_string),
        machine: facts_here,
        other: plan.describe(),
        ..session::run()
    };
    let mut agreed = String::new();
    let mut unpredicted = Vec::new();
    if let Some(forecasts) = forecasts {
        let forecast = forecast(forecasts, &stop);
        forecast.put(&plan, &mut measurements);
        forecast.calibration.put(&mut run);
        agreed = in_words(&agreement(&measurements, FEW));
        unpredicted = forecast.warnings;
    }
    let warned = warnings(&run.machine, &measurements, plan.rounds());
    run.warnings = [plan.left_out(), &given_up, &unpredicted, &warned].concat();
    run.results = measurements;
    let run = session::disturbed(run, disturbance);
    outputs.deliver_until(end.failed, &run, &(punctual_report::text(&run) + &agreed))
}

/// What the model says of every cell; nothing more once the user wants an end.
fn forecast(forecasts: Forecasts<'_>, stop: &Stop) -> Forecast {
    let mut bar = Progress::alike(forecasts.predictions());
    forecasts.finish(&mut |cell| {
        bar.step(&format!("predicts {cell}"));
        !stop.is_requested()
    })
}

/// The model is held to what at most so many threads do: that more CPUs are alike
/// is not measured.
const FEW: u64 = 2;

/// How the predictions agree with what was measured.
fn in_words(agreement: &Agreement) -> String {
    let Some(worst) = agreement.worst() else {
        return String::new();
    };
    format!(
        "\nPredictions of the model against {} rates of pools of {FEW} threads at most: off by {:.1} % in the geometric \
         mean,\nat worst by {:.0} % ({} of {}). The aim is {:.0} % and {:.0} %.\n",
        agreement.ratios.len(),
        agreement.mean_error() * 100.0,
        worst.error() * 100.0,
        worst.what,
        worst.cell,
        TARGET_MEAN * 100.0,
        TARGET_WORST * 100.0,
    )
}

/// Touches the memory once: how long everything takes is not known before.
fn touch(plan: &mut Plan) -> Result<()> {
    for left_out in plan.left_out() {
        say!("{}", left_out.what);
    }
    say!(
        "zero run: touches its memory once beforehand ({})",
        plan.memory_in_words()
    );
    Ok(plan.warm_up()?)
}

/// Says on standard error what is about to happen and how long it takes.
fn announce(plan: &Plan, calibration: Nanos) {
    let settings = match plan.cells().len() {
        1 => "one setting".to_owned(),
        settings => format!("{settings} settings"),
    };
    say!(
        "zero run: {settings} in {}, {}",
        session::rounds(plan.rounds()),
        session::about(plan.length() + calibration, false)
    );
}

fn settings(args: &RunArgs) -> Result<Settings> {
    let burst = args.arrivals == Some(Arrivals::Burst);
    for (option, given) in [
        ("--every", args.every.is_some()),
        ("--bursts", args.bursts.is_some()),
    ] {
        if given && !burst {
            bail!("{option} is for bursts: add --arrivals burst, or leave it out");
        }
    }
    let memories = args.memory.map(|memory| match memory {
        args::Memory::Hot => vec![Memory::Hot],
        args::Memory::Cold => vec![Memory::Cold],
        args::Memory::Both => vec![Memory::Hot, Memory::Cold],
    });
    Ok(Settings {
        quick: args.effort.quick,
        threads: args.threads.as_ref().map(|list| list.0.clone()),
        locks: args.lock.as_ref().map(|list| list.0.clone()),
        batches: args.batch.as_ref().map(|list| list.0.clone()),
        dequeues: args.dequeue.as_ref().map(|list| list.0.clone()),
        returns: args.returns,
        kernels: args.kernel.as_ref().map(|kernels| kernels.0.clone()),
        memories,
        bytes: args.size,
        bursts: burst.then(|| Bursts {
            every: args.every.unwrap_or(USUALLY_EVERY),
            times: args.bursts.unwrap_or(1),
        }),
        rounds: args.effort.rounds,
        memory_limit: args.memory_limit,
    })
}
