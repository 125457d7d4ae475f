//! Advice for this computer, and a run of what is advised.

use anyhow::Result;
use punctual_lab::host::Stop;
use punctual_record::Run;
use punctual_zero::advice::{Advised, Candidate, check, considered, with_predictions};
use punctual_zero::calibration::{Calibrator, Wanted};
use punctual_zero::model::Calibrated;
use punctual_zero::run::{Area, Cell, Memory, Plan, Ran, Settings, facts, warnings};
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, LockKind, Setting};

use super::advise;
use super::args::{self, AdviseArgs};
use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::{Done, say, stop};

/// Calibrates a model of this computer, asks it, and measures what it says.
pub(super) fn run(args: &AdviseArgs) -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    let area = area(args, &stop)?;
    let outputs = Outputs::new(&args.output)?;
    let started_at = session::now();
    let mut run = Run {
        started_at: Some(started_at),
        machine: session::host_facts(),
        ..session::run()
    };
    run.machine.other.extend(facts());
    let ground = Plan::of_cells(cells(args.kernel, area, vec![ONE]), 1, stop.clone())?;
    run.warnings = ground.left_out().to_vec();
    for left_out in &run.warnings {
        say!("{}", left_out.what);
    }
    let model = calibrated(args, area, ground, &stop)?;
    model.calibration().put(&mut run);
    let advised = match stop.is_requested() {
        true => None,
        false => advise(&model, args, area.pages, Some(&stop))?,
    };
    let Some((advised, candidates)) = advised else {
        run.interrupted = true;
        return outputs.deliver(&run, &punctual_report::text(&run));
    };
    let mut advice = advised.record(&model, false)?;

    let cells = cells(args.kernel, area, settings(args, &advised, &candidates));
    let rounds = rounds(args);
    let mut plan = Plan::of_cells(cells, rounds, stop)?;
    announce(&mut plan)?;
    let mut bar = Progress::alike(plan.batches());
    let Ran {
        mut measurements,
        given_up,
        disturbance,
        end,
    } = plan.run(&mut |progress| bar.at(progress.done, &progress.next));
    drop(bar);

    // Those with intervals come last, and replace those without.
    let predicted = candidates.iter().chain(advised.candidates());
    with_predictions(&mut measurements, predicted);
    if args.check {
        check(&mut advice, &measurements);
    }
    let warned = warnings(&run.machine, &measurements, rounds);
    run.interrupted = end.is_early();
    run.failed = end.failed.as_ref().map(ToString::to_string);
    run.warnings.extend(given_up);
    run.warnings.extend(warned);
    run.results = measurements;
    run.beside.zero_advice = Some(advice);
    run.other.extend(plan.describe());
    let run = session::disturbed(run, disturbance);
    outputs.deliver_until(end.failed, &run, &punctual_report::text(&run))
}

/// The model of this computer, measured in rounds in the memory of `ground` until
/// the user wants an end.
fn calibrated(args: &AdviseArgs, area: Area, mut ground: Plan, stop: &Stop) -> Result<Calibrated> {
    let rounds = rounds(args);
    ground.warm_up()?;
    let (memory, cpu_clock) = ground.ground();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let wanted = Wanted {
        areas: vec![area],
        kernel: args.kernel,
        settings: considered(cpus, None),
    };
    let mut calibrator = Calibrator::new(wanted, memory, cpu_clock)?;
    let length = calibrator.round_length().times(rounds.into());
    say!(
        "zero advise: measures the parts of a pool first, {}",
        session::about(length, false)
    );
    let mut bar = Progress::alike(rounds as usize);
    for _ in 0..rounds {
        if stop.is_requested() {
            break;
        }
        bar.step("parts of a pool");
        calibrator.round()?;
    }
    let model = Calibrated::new(calibrator.calibration(), area.memory);
    Ok(model.timed(TIMED_EVERY))
}

fn rounds(args: &AdviseArgs) -> u32 {
    let usual = if args.effort.quick { 3 } else { 6 };
    args.effort.rounds.unwrap_or(usual)
}

/// The pools that are run to check it are timed, which costs time: one take in so
/// many mostly.
const TIMED_EVERY: u32 = 64;

/// The simplest pool.
const ONE: Setting = Setting::new(1, LockKind::Counter, Batch::One);

/// The memory that is asked for, if this computer has it and zeroes in that way.
fn area(args: &AdviseArgs, stop: &Stop) -> Result<Area> {
    let settings = Settings {
        quick: args.effort.quick,
        threads: Some(vec![1]),
        locks: Some(vec![LockKind::Counter]),
        batches: Some(vec![Batch::One]),
        kernels: Some(vec![args.kernel]),
        memories: Some(vec![match args.memory {
            args::Memory::Hot => Memory::Hot,
            args::Memory::Cold => Memory::Cold,
        }]),
        bytes: args.size,
        memory_limit: args.memory_limit,
        ..Settings::default()
    };
    let plan = Plan::of(&settings, stop.clone())?;
    Ok(plan.cells()[0].area)
}

/// What is run: what is advised, and the careless way; or everything.
fn settings(args: &AdviseArgs, advised: &Advised, candidates: &[Candidate]) -> Vec<Setting> {
    let mut settings: Vec<Setting> = advised.settings();
    if args.check {
        let all = candidates.iter().map(|candidate| candidate.setting);
        let others: Vec<Setting> = all.filter(|s| !settings.contains(s)).collect();
        settings.extend(others);
    }
    settings
}

fn cells(kernel: Kernel, area: Area, settings: Vec<Setting>) -> Vec<Cell> {
    let settings = settings.into_iter();
    settings
        .map(|setting| Cell {
            setting,
            kernel,
            area,
            bursts: None,
        })
        .collect()
}

/// Says on standard error what is about to be run and how long it takes, for which
/// the memory has to be touched.
fn announce(plan: &mut Plan) -> Result<()> {
    plan.warm_up()?;
    say!(
        "zero advise: runs {} pools in {} on memory of {}, {}",
        plan.cells().len(),
        session::rounds(plan.rounds()),
        plan.memory_in_words(),
        session::about(plan.length(), false)
    );
    Ok(())
}
