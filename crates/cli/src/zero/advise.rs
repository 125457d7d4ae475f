//! `punctual zero advise`.

use anyhow::Result;
use clap::Args;
use punctual_lab::host::Stop;
use punctual_record::Run;
use punctual_zero::ZeroFacts;
use punctual_zero::advice::{
    Advised, Candidate, Goal, Model, check, considered, naive, pools, with_predictions,
};
use punctual_zero::calibration::{Calibrator, Wanted};
use punctual_zero::model::Calibrated;
use punctual_zero::rows::{PAGE_BYTES, ZeroFindings, ZeroRow};
use punctual_zero::run::{Area, Cell, Memory, PoolPlan, Settings, warnings};
use punctual_zero::{Ran, simulation, usual_rounds};
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::Machine;

use crate::options::{Effort, Output};
use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::values::{bytes, one_of};
use crate::zero::unless_stopped;
use crate::{Done, say, stop};

pub(crate) const ABOUT: &str = "\
Say which threads, batch and lock to zero memory with on this computer, and check it by a run.

The parts are measured: what a cache line takes from CPU to CPU, a lock that nobody else wants, a page. A model made of them \
predicts pools by threads, lock and batch, and for each goal the best is advised; of those within 0.5 % of the \
best the one with the fewest threads, then the simpler lock, then the smaller batch. Then the advised pools are run, and what \
was predicted stands beside what was measured.";

pub(crate) const AFTER: &str = "\
Goals:
  cpu       the most GB per second of CPU time: what an operating system wants
            that zeroes in the background
  wall      the most GB per second that passes: what somebody wants who waits
            for the memory
  balanced  the least product of CPU-seconds and seconds per GB^2: the geometric
            middle of both. A pool twice as fast for twice the CPU time is as
            good; one thread more is taken as long as it brings more than it
            costs.

Locks, the simpler first: counter (nothing to hold), tas (a word), ticket (two), ttas (a word, and a delay that wants to be \
right), mutex (the operating system), mcs (a node for each worker).

Threads that are considered: each number up to 8, then 16, 32 and so on, as many as there are CPUs, and as many as the memory \
keeps up with.

Batches that are considered: 1, 8, 64, 512, n, 2n, guided, growing. Not half of what is left: it looks good per second of CPU \
time only because most workers have nothing to do.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured or simulated is kept).

Examples:
  punctual zero advise
  punctual zero advise --goal cpu --memory hot --quick
  punctual zero advise --check --json advice.json
  punctual zero advise --on cascade-lake-96
  punctual zero advise --on milan-192,zero=150ns --goal balanced --size 6GiB";

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// What the pool is to be good at: cpu, wall or balanced [default: all three]
    #[arg(long, value_name = "GOAL", value_parser = one_of(Goal::ALL.map(|goal| (goal.name(), goal))), hide_possible_values = true)]
    pub(crate) goal: Option<Goal>,

    /// Another computer, by its model only: nothing is measured (`punctual zero simulate --list` shows all)
    #[arg(long, value_name = "COMPUTER", conflicts_with_all = ["memory", "memory_limit", "kernel", "quick", "rounds", "check", "plots"])]
    pub(crate) on: Option<String>,

    /// How much memory: half of the second cache in all (hot), or four times the last caches (cold)
    #[arg(
        long,
        value_name = "NAME",
        value_parser = one_of([("hot", Memory::Hot), ("cold", Memory::Cold)]),
        default_value = "cold",
        hide_possible_values = true,
        conflicts_with = "size"
    )]
    pub(crate) memory: Memory,

    /// So much memory, such as 512KiB or 1GiB, instead of hot or cold [default with --on: 1GiB]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) size: Option<u64>,

    /// The most memory to zero, such as 4GiB [default: half of what is free]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,

    /// How a page is zeroed: memset, rep-stosb, non-temporal, clzero or dc-zva
    #[arg(long, value_name = "NAME", default_value = "memset")]
    pub(crate) kernel: Kernel,

    /// Run every pool that was considered, and say whether the advised ones are the best of them
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) effort: Effort,

    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) fn run(args: &AdviseArgs) -> Result<Done> {
    match &args.on {
        Some(on) => there(args, on),
        None => here(args),
    }
}

/// Asks the model of this computer about every pool that is considered; `None` if
/// `stop` was requested before it was done.
fn advise(
    model: &dyn Model,
    args: &AdviseArgs,
    pages: u64,
    stop: &Stop,
) -> Result<Option<(Advised, Vec<Candidate>)>> {
    let settings = pools(model)?;
    let mut bar = super::progress(&settings);
    let mut next = |setting: &Setting| {
        super::show(&mut bar, setting);
        !stop.is_requested()
    };
    Ok(Advised::ask(
        model,
        settings,
        &goals(args),
        pages,
        &mut next,
    )?)
}

fn goals(args: &AdviseArgs) -> Vec<Goal> {
    args.goal.map_or(Goal::ALL.to_vec(), |goal| vec![goal])
}

/// Calibrates a model of this computer, asks it, and measures what it says.
fn here(args: &AdviseArgs) -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    let area = area(args, &stop)?;
    let outputs = Outputs::new(&args.output)?;
    let started_at = session::now();
    let mut run: Run<ZeroRow> = Run {
        started_at: Some(started_at),
        machine: session::host_facts(),
        ..session::run()
    };
    ZeroFacts::of_pools().add_to(&mut run.machine);
    let ground = PoolPlan::of_cells(Cell::all(args.kernel, area, vec![ONE]), 1, stop.clone())?;
    run.warnings = ground.left_out.clone();
    session::say_left_out(&run.warnings);
    let model = calibrated(args, area, ground, &stop)?;
    run.beside.zero_calibration = Some(model.calibration.clone());
    let advised = match stop.is_requested() {
        true => None,
        false => advise(&model, args, area.pages, &stop)?,
    };
    let Some((advised, candidates)) = advised else {
        run.interrupted = true;
        return outputs.deliver(&run, &args.output.of(&run));
    };
    let mut advice = advised.record(&model, false)?;

    // All of them, or what is advised.
    let others = if args.check { &candidates[..] } else { &[] };
    let cells = Cell::all(args.kernel, area, advised.settings(others));
    let rounds = rounds(args);
    let mut plan = PoolPlan::of_cells(cells, rounds, stop)?;
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
    run.warnings.extend(given_up);
    run.warnings.extend(warned);
    run.results = measurements;
    run.beside = ZeroFindings {
        zero_advice: Some(advice),
        zero_calibration: run.beside.zero_calibration,
        ..plan.findings()
    };
    let run = session::ended(run, &end, disturbance);
    outputs.deliver(&run, &args.output.of(&run))
}

/// The model of this computer, measured in rounds in the memory of `ground` until
/// the user wants an end.
fn calibrated(
    args: &AdviseArgs,
    area: Area,
    mut ground: PoolPlan,
    stop: &Stop,
) -> Result<Calibrated> {
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
    Ok(Calibrated {
        calibration: calibrator.calibration(),
        memory: area.memory,
        timed_every: TIMED_EVERY,
    })
}

fn rounds(args: &AdviseArgs) -> u32 {
    let Effort { quick, rounds } = args.effort;
    rounds.unwrap_or(usual_rounds(quick))
}

/// The pools that are run to check it are timed, which costs time: one take in so
/// many mostly.
const TIMED_EVERY: u32 = 64;

const ONE: Setting = Setting::new(1, LockKind::Counter, Batch::One);

/// The memory that is asked for, if this computer has it and zeroes in that way.
fn area(args: &AdviseArgs, stop: &Stop) -> Result<Area> {
    let settings = Settings {
        quick: args.effort.quick,
        kernels: Some(vec![args.kernel]),
        memories: Some(vec![args.memory]),
        bytes: args.size,
        memory_limit: args.memory_limit,
        ..Settings::default()
    };
    let plan = PoolPlan::of(&settings, stop.clone())?;
    Ok(plan.cells[0].area)
}

/// Says on standard error what is about to be run and how long it takes, for which
/// the memory has to be touched.
fn announce(plan: &mut PoolPlan) -> Result<()> {
    plan.warm_up()?;
    say!(
        "zero advise: runs {} pools in {} on memory of {}, {}",
        plan.cells.len(),
        session::rounds(plan.rounds),
        plan.memory_in_words(),
        session::about(plan.length(), false)
    );
    Ok(())
}

/// As much as `punctual zero simulate` zeroes.
const USUALLY: u64 = 1 << 30;

fn there(args: &AdviseArgs, on: &str) -> Result<Done> {
    let machine = Machine::parse(on)?;
    let stop = stop::on_ctrl_c()?;
    let outputs = Outputs::new(&args.output)?;
    let pages = args.size.unwrap_or(USUALLY).div_ceil(PAGE_BYTES);
    let cpus = machine.topology.cpus();
    let mut settings = pools(&machine)?;
    // First, as all others are compared with it, also those of an early end.
    settings.sort_by_key(|setting| *setting != naive(cpus));
    let mut bar = super::progress(&settings);
    let mut candidates = Vec::new();
    for &setting in &settings {
        super::show(&mut bar, &setting);
        let model = machine.clone();
        let Some(predicted) = unless_stopped(&stop, move || model.central(&setting, pages))? else {
            break;
        };
        let predicted = predicted?;
        candidates.push(Candidate { setting, predicted });
    }
    drop(bar);
    let goals = goals(args);
    let whole = match candidates.len() < settings.len() {
        true => None,
        false => {
            let (model, goals) = (machine.clone(), goals.clone());
            let candidates = candidates.clone();
            let advise = move || Advised::of(&model, &candidates, &goals, pages);
            unless_stopped(&stop, advise)?.transpose()?
        }
    };
    let interrupted = whole.is_none();
    let advised = match whole {
        // There is none where not even the first pool was simulated.
        None => Advised::of_what_there_is(cpus, &candidates, &goals, pages).ok(),
        whole => whole,
    };
    let advice = advised.map(|advised| advised.record(&machine, true));
    let run: Run<ZeroRow> = Run {
        machine: simulation::machine_facts(&machine),
        interrupted,
        beside: ZeroFindings {
            zero_advice: advice.transpose()?,
            ..ZeroFindings::default()
        },
        ..session::run()
    };
    outputs.deliver(&run, &args.output.of(&run))
}
