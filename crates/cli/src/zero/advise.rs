//! `punctual zero advise`.

use anyhow::Result;
use clap::Args;
use punctual_lab::host::Stop;
use punctual_record::Run;
use punctual_zero::advice::{
    Advised, Candidate, Goal, best_measured, considered, finalists, pools,
};
use punctual_zero::rows::{PAGE_BYTES, ZeroFindings, ZeroRow};
use punctual_zero::run::{Area, Cell, Memory, PoolPlan, Settings, warnings};
use punctual_zero::{Ran, ZeroFacts, simulation, usual_rounds};
use punctual_zero_memory::Kernel;
use punctual_zero_pool::{LockKind, Setting};
use punctual_zero_sim::Machine;

use crate::host::refuse_a_faked_clock;
use crate::options::{Effort, Output};
use crate::session::{self, Outputs};
use crate::values::{bytes, one_of};
use crate::zero::{answer, in_turns};
use crate::{Done, say, stop};

pub(crate) const ABOUT: &str = "\
Advise threads, batch and lock to zero memory with: by runs on this computer, or by the model of another one.

Here all pools that are considered run once. The pools within a tenth of the best for a goal then run in rounds, and for \
each goal the best is advised. Of pools that do not differ significantly it is the one with the fewest threads, then the simpler \
lock, then the smaller batch. With --on the model of the computer predicts the pools instead, and nothing is measured.";

pub(crate) fn after() -> String {
    let lock = |lock: LockKind| format!("{lock} ({})", lock.facts().parts);
    let locks = LockKind::by_complexity().map(lock).join(", ");
    format!("{GOALS}\n\nLocks, the simpler first: {locks}.\n\n{AFTER}")
}

const GOALS: &str = "\
Goals:
  cpu       the most GB per second of CPU time: what an operating system wants
            that zeroes in the background
  wall      the most GB per second that passes: the goal of a program that waits
            for the memory
  balanced  the least product of CPU time and elapsed time: a pool that is twice
            as fast for twice the CPU time is as good";

const AFTER: &str = "\
Threads that are considered: each number up to 8, then 16, 32 and so on, and as many as there are CPUs; with --on also the \
most that the bandwidth of the memory is enough for, and one more.

Batches that are considered: 1, 8, 64, 512, n, 2n, guided, growing (see `punctual zero run --help`). `half` is not: it looks \
good per second of CPU time only because most workers have nothing to do.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (measured or simulated pools are kept).

Examples:
  punctual zero advise
  punctual zero advise --goal cpu --memory hot --quick
  punctual zero advise --size 1GiB --json advice.json
  punctual zero advise --on cascade-lake-96
  punctual zero advise --on milan-192,zero=150ns --goal balanced --size 6GiB";

#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// The goal of the pool: cpu, wall or balanced [default: all three]
    #[arg(long, value_name = "GOAL", value_parser = one_of(Goal::ALL.map(|goal| (goal.name(), goal))), hide_possible_values = true)]
    pub(crate) goal: Option<Goal>,

    /// Another computer, by its model only: nothing is measured (`punctual zero simulate --list` shows all)
    #[arg(long, value_name = "COMPUTER", conflicts_with_all = ["memory", "memory_limit", "kernel", "quick", "rounds", "plots"])]
    pub(crate) on: Option<String>,

    /// Memory in all: hot (half of a level-2 cache), or cold (four times the last-level caches)
    #[arg(
        long,
        value_name = "NAME",
        value_parser = one_of([("hot", Memory::Hot), ("cold", Memory::Cold)]),
        default_value = "cold",
        hide_possible_values = true,
        conflicts_with = "size"
    )]
    pub(crate) memory: Memory,

    /// The amount of memory, such as 512KiB or 1GiB, instead of hot or cold [default with --on: 1GiB]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) size: Option<u64>,

    /// The most memory to zero, such as 4GiB [default: half of what is free]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) memory_limit: Option<u64>,

    /// How a page is zeroed: memset, rep-stosb, non-temporal, clzero or dc-zva
    #[arg(long, value_name = "NAME", default_value = "memset")]
    pub(crate) kernel: Kernel,

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

fn goals(args: &AdviseArgs) -> Vec<Goal> {
    args.goal.map_or(Goal::ALL.to_vec(), |goal| vec![goal])
}

/// Measures all pools that are considered once, and those near the best in rounds.
fn here(args: &AdviseArgs) -> Result<Done> {
    refuse_a_faked_clock()?;
    let stop = stop::on_ctrl_c()?;
    let area = area(args, &stop)?;
    let outputs = Outputs::new(&args.output)?;
    let mut run: Run<ZeroRow> = session::run_here();
    ZeroFacts::of_pools().add_to(&mut run.machine);
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (all, goals) = (considered(cpus, None), goals(args));
    let (_, survey) = measure(args, area, &all, 1, &stop)?;
    let near = match survey.end.is_early() {
        true => vec![],
        false => finalists(&all, &survey.measurements, &goals),
    };
    let (plan, ran) = match near.is_empty() {
        true => (None, survey),
        false => {
            let (plan, ran) = measure(args, area, &near, rounds(args), &stop)?;
            (Some(plan), ran)
        }
    };
    let advice = plan
        .as_ref()
        .filter(|_| !ran.end.is_early())
        .and_then(|_| best_measured(&near, &ran.measurements, &goals, area.pages, all.len()));
    let warned = warnings(&run.machine, &ran.measurements, rounds(args));
    run.warnings = plan.as_ref().map_or(vec![], |plan| plan.left_out.clone());
    run.beside = ZeroFindings {
        zero_advice: advice,
        ..plan.map_or_else(ZeroFindings::default, |plan| plan.findings())
    };
    answer(outputs, run, ran, warned)
}

/// Runs the pools of `settings` in so many rounds, after it said how long that takes.
fn measure(
    args: &AdviseArgs,
    area: Area,
    settings: &[Setting],
    rounds: u32,
    stop: &Stop,
) -> Result<(PoolPlan, Ran)> {
    let cells = Cell::all(args.kernel, area, settings.to_vec());
    let mut plan = PoolPlan::of_cells(cells, rounds, args.effort.quick, stop.clone())?;
    announce(&mut plan)?;
    let ran = in_turns(plan.batches(), |progress| plan.run(progress));
    Ok((plan, ran))
}

fn rounds(args: &AdviseArgs) -> u32 {
    let Effort { quick, rounds } = args.effort;
    rounds.unwrap_or(usual_rounds(quick))
}

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
        "zero advise: runs {} pools in {} on {}, {}",
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
    let (settings, goals) = (pools(&machine), goals(args));
    say!("zero advise: {} pools on {}", settings.len(), machine.name);
    let mut bar = super::progress(&settings);
    let mut candidates = Vec::new();
    for &setting in &settings {
        super::show(&mut bar, &setting);
        let computer = machine.clone();
        let predict = move || Candidate::predict(&computer, setting, pages);
        let Some(candidate) = stop::unless_stopped(&stop, predict)? else {
            break;
        };
        candidates.push(candidate?);
    }
    drop(bar);
    let whole = match candidates.len() < settings.len() {
        true => None,
        false => {
            let (computer, all, goals) = (machine.clone(), candidates.clone(), goals.clone());
            stop::unless_stopped(&stop, move || Advised::of(&computer, &all, &goals, pages))?
        }
    };
    let interrupted = whole.is_none();
    let advised = match whole {
        Some(advised) => Some(advised?),
        // There is none where not even the first pool was predicted.
        None => Advised::of_some(&machine, &candidates, &goals, pages).ok(),
    };
    let run: Run<ZeroRow> = Run {
        machine: simulation::machine_facts(&machine),
        interrupted,
        beside: ZeroFindings {
            zero_advice: advised.map(|advised| advised.record(&machine)),
            ..ZeroFindings::default()
        },
        ..session::run()
    };
    outputs.answer(&run)
}
