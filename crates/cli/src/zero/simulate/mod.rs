//! `punctual zero simulate`.

pub(crate) mod args;
mod article;
mod list;
mod validate;

use anyhow::{Context, Result, anyhow};
use punctual_record::Run;
use punctual_zero::rows::PAGE_BYTES;
use punctual_zero::{Grid, simulation};
use punctual_zero_pool::{Batch, LockKind};
use punctual_zero_sim::{Job, Machine, Matrix};

use crate::session::{self, Outputs};
use crate::{Done, files, print, say, zero};
use args::{SimulateArgs, Story};

/// Runs the command.
pub(crate) fn run(args: &SimulateArgs) -> Result<Done> {
    if args.list {
        print(&list::text())?;
        return Ok(Done::Whole);
    }
    if args.validate {
        return validate::run();
    }
    match args.story {
        Some(Story::Article) => article::run(args),
        None => simulate(args),
    }
}

fn simulate(args: &SimulateArgs) -> Result<Done> {
    let machine = machine(args)?;
    let grid = grid(args, &machine);
    let (settings, left_out) = grid.settings();
    if settings.is_empty() {
        return Err(anyhow!(left_out.join("; ")));
    }
    for why in &left_out {
        say!("left out: {why}");
    }
    let outputs = Outputs::new(&args.output)?;
    let mut bar = zero::progress(&settings);
    let mut results = Vec::new();
    for setting in settings {
        zero::show(&mut bar, &setting);
        let job = Job {
            preemption: args.preempt,
            seed: args.seed,
            ..Job::new(setting, args.size.div_ceil(PAGE_BYTES))
        };
        let measured = match args.arrive {
            Some(gb_per_s) => simulation::measure_bursts(&machine, &job, gb_per_s, args.every),
            None => simulation::measure(&machine, &job),
        };
        let failed = || {
            format!(
                "{} threads, batch {}, lock {}",
                setting.workers, setting.batch, setting.lock
            )
        };
        results.push(measured.map_err(|why| anyhow!(why)).with_context(failed)?);
    }
    drop(bar);
    let run = Run {
        machine: simulation::machine_facts(&machine),
        warnings: simulation::warnings(&results),
        results,
        ..session::run()
    };
    outputs.deliver(&run, &punctual_report::text(&run))
}

fn machine(args: &SimulateArgs) -> Result<Machine> {
    let machine = Machine::parse(&args.on).map_err(|why| anyhow!(why))?;
    let Some(file) = &args.matrix else {
        return Ok(machine);
    };
    let name = files::name(file);
    let text = files::text(file, files::LONGEST)?;
    let matrix = Matrix::parse(&text).map_err(|why| anyhow!("{name}: {why}"))?;
    machine
        .with_matrix(matrix)
        .map_err(|why| anyhow!("{name}: {why}"))
}

/// What is given; else, on a large computer, a coarser grid: what contends for a
/// line there takes long to simulate.
fn grid(args: &SimulateArgs, machine: &Machine) -> Grid {
    let cpus = machine.topology().cpus();
    let (factor, locks, batches) = if cpus > LARGE {
        (4, LOCKS_WHERE_LARGE, BATCHES_WHERE_LARGE)
    } else {
        (2, LOCKS, BATCHES)
    };
    Grid {
        threads: args
            .threads
            .as_ref()
            .map_or_else(|| steps(cpus, factor), |list| list.0.clone()),
        locks: args
            .lock
            .as_ref()
            .map_or_else(|| locks.to_vec(), |list| list.0.clone()),
        batches: args
            .batch
            .as_ref()
            .map_or_else(|| batches.to_vec(), |list| list.0.clone()),
        dequeue: args.dequeue,
        returns: args.returns,
    }
}

/// More CPUs than that are many.
const LARGE: usize = 100;

const LOCKS: &[LockKind] = &[
    LockKind::Tas,
    LockKind::Ticket,
    LockKind::Mcs,
    LockKind::Mutex,
    LockKind::Counter,
];
const BATCHES: &[Batch] = &[
    Batch::One,
    Batch::Workers,
    Batch::TwiceWorkers,
    Batch::Half,
    Batch::GUIDED,
    Batch::Growing,
];

/// Without a ticket lock, which is as bad as test-and-set.
const LOCKS_WHERE_LARGE: &[LockKind] = &[
    LockKind::Tas,
    LockKind::Mcs,
    LockKind::Mutex,
    LockKind::Counter,
];
const BATCHES_WHERE_LARGE: &[Batch] = &[Batch::One, Batch::Workers, Batch::Half, Batch::GUIDED];

/// 1, and that many times more each, and the last one.
fn steps(last: usize, factor: usize) -> Vec<usize> {
    let steps = std::iter::successors(Some(1), |n| Some(factor * n));
    // The last step but one is not next to the last.
    let mut numbers: Vec<usize> = steps.take_while(|n| factor * n < 2 * last).collect();
    numbers.push(last);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_end_with_all_cpus() {
        assert_eq!(steps(96, 2), [1, 2, 4, 8, 16, 32, 64, 96]);
        assert_eq!(steps(256, 4), [1, 4, 16, 64, 256]);
        assert_eq!(steps(272, 4), [1, 4, 16, 64, 272]);
    }
}
