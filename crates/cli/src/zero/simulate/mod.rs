//! `punctual zero simulate`.

pub(crate) mod args;
mod article;
mod list;
mod validate;

use anyhow::{Result, anyhow};
use punctual_lab::zero::{Grid, simulation};
use punctual_record::{PAGE_BYTES, Run};
use punctual_sim::zeroing::{Job, Machine, Matrix};

use crate::session::{self, Outputs};
use crate::{Done, files, print, say};
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
    let bar = session::Steps::new(settings.len());
    let mut results = Vec::new();
    for setting in settings {
        bar.show(&format!(
            "{} {} {}",
            setting.lock, setting.batch, setting.workers
        ));
        let job = Job {
            preemption: args.preempt,
            seed: args.seed,
            ..Job::new(setting, args.size.div_ceil(PAGE_BYTES))
        };
        let measured = match args.arrive {
            Some(gb_per_s) => simulation::measure_bursts(&machine, &job, gb_per_s, args.every),
            None => simulation::measure(&machine, &job),
        };
        results.push(measured.map_err(|why| anyhow!(why))?);
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

fn grid(args: &SimulateArgs, machine: &Machine) -> Grid {
    let threads = match &args.threads {
        Some(threads) => threads.0.clone(),
        None => doubling(machine.topology().cpus()),
    };
    Grid {
        threads,
        locks: args.lock.0.clone(),
        batches: args.batch.0.clone(),
        dequeue: args.dequeue,
        returns: args.returns,
    }
}

/// 1, 2, 4 and so on, and the last one.
fn doubling(last: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(1), |n| Some(2 * n));
    let mut numbers: Vec<usize> = doubling.take_while(|n| *n < last).collect();
    numbers.push(last);
    numbers
}
