//! `punctual zero simulate`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use punctual_core::Nanos;
use punctual_record::Run;
use punctual_report::{Report, prose};
use punctual_zero::loads::{self, Load};
use punctual_zero::rows::{PAGE_BYTES, ZeroRow};
use punctual_zero::validation::{self, Validation};
use punctual_zero::{Grid, article, computers, simulation};
use punctual_zero_pool::{Batch, Dequeue, LockKind};
use punctual_zero_sim::{Job, Machine, Matrix, Preemption};

use crate::options::Output;
use crate::progress::Progress;
use crate::session::{self, Outputs};
use crate::simulate::validate::chosen;
use crate::values::{List, bytes, length, list, number, numbers, seed};
use crate::zero::named;
use crate::{Done, files, print, say, stop};

pub(crate) const ABOUT: &str = "\
Run the pool that `punctual zero run` runs, the same code, on a simulated computer.

Cache lines travel between cores, one request after the other; memory has so much bandwidth; locks, batches and workers are \
the real ones. --list names the source of each figure of a computer, or says that it is a guess. With --full a formula for \
the rate stands beside the simulation (closed form, after Boyd-Wickizer and others, 2012).

`punctual zero simulate article` simulates the systems of the page-zeroing article: the cost on Windows 10, the gain of each \
proposed change, and the costs on Windows 11 and Server 2022.";

pub(crate) const AFTER: &str = "\
Exit codes: 0 done; with --validate 1 if a figure is not as published and the deviation is not explained; 2 could not run; \
3 ended by Ctrl-C (what was simulated is kept).

Examples:
  punctual zero simulate article
  punctual zero simulate --on milan-192 --threads 1-8,96,192 --lock tas,mcs
  punctual zero simulate --on cascade-lake-96,zero=150ns,across=120ns
  punctual zero simulate --on rome-256 --matrix EPYC_7742.csv
  punctual zero simulate --threads 39 --lock tas --batch 1 --arrive 1.17
  punctual zero simulate --load browser-trace
  punctual zero simulate --load standby-list --size 8GiB --batch 1,half
  punctual zero simulate --preempt 10ms/1ms --lock mcs,mutex
  punctual zero simulate --list
  punctual zero simulate --validate";

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The story to tell, instead of a grid of pools
    #[arg(value_name = "NAME", value_enum, hide_default_value = true, conflicts_with_all = ["on", "load", "matrix", "threads", "lock", "batch", "dequeue", "returns", "size", "arrive", "preempt"])]
    pub(crate) story: Option<Story>,

    /// The computer, with figures of your own after commas, as zero=150ns; --list shows names and units
    #[arg(long, value_name = "COMPUTER", default_value = "cascade-lake-96")]
    pub(crate) on: String,

    /// A load of the page-zeroing article, on its computer, with its pool where no other is given: browser-trace,
    /// zeropage-test, browser-build, freed-blocks, standby-list
    #[arg(long, value_name = "LOAD", value_parser = load, conflicts_with_all = ["on", "matrix", "arrive", "every"])]
    pub(crate) load: Option<Arc<Load>>,

    /// The time a cache line takes between each two CPUs, in ns: a CSV file as core-to-core-latency writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) matrix: Option<PathBuf>,

    /// Numbers of workers: 1,2,4-8 [default: 1, 2, 4 and so on up to the number of CPUs; beyond 100 CPUs 1, 4, 16 and so on]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = numbers)]
    pub(crate) threads: Option<List<usize>>,

    #[arg(long, help = locks(), value_name = "LIST", value_parser = list::<LockKind>)]
    pub(crate) lock: Option<List<LockKind>>,

    /// Pages per take: a number, n, 2n, half, guided, factoring, trapezoid, growing, steal-half [default: 1,n,2n,half,guided,growing; beyond 100 CPUs 1,n,half,guided]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Batch>)]
    pub(crate) batch: Option<List<Batch>>,

    /// How pages are taken: range (one addition), list (one cache miss for each page, under the lock)
    #[arg(long, value_name = "HOW", default_value = "range")]
    pub(crate) dequeue: Dequeue,

    /// Put zeroed pages into a list under this lock, as Windows 11 seems to do [default: no list]
    #[arg(long, value_name = "LOCK")]
    pub(crate) returns: Option<LockKind>,

    /// How much is to be zeroed [default: 1GiB, or what --load says]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = bytes)]
    pub(crate) size: Option<u64>,

    /// Instead of --size: how many GB (1e9 bytes) arrive per second; all workers start every --every
    #[arg(long, value_name = "GB/S", allow_hyphen_values = true, value_parser = rate, conflicts_with = "size")]
    pub(crate) arrive: Option<f64>,

    /// With --arrive: the time from one start of the workers to the next
    #[arg(long, value_name = "LENGTH", default_value = "2s", allow_hyphen_values = true, value_parser = length, requires = "arrive")]
    pub(crate) every: Nanos,

    /// Take each CPU away every so often for so long, as a hypervisor does: 10ms/1ms
    #[arg(long, value_name = "EVERY/LENGTH", value_parser = preemption)]
    pub(crate) preempt: Option<Preemption>,

    /// The seed of the simulation's random numbers; the same seed gives the same output
    #[arg(long, value_name = "N", default_value = "1", allow_hyphen_values = true, value_parser = seed)]
    pub(crate) seed: u64,

    /// List the computers with their figures, how sure each is, and its source
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,

    /// Compare the model with what is published: all figures, or those of these names (Z01,Z09)
    #[arg(long, value_name = "ROWS", num_args = 0.., value_delimiter = ',', exclusive = true)]
    pub(crate) validate: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Story {
    /// The page-zeroing article: 39 workers, one page at a time, a spin lock, 96 CPUs; and what would have helped
    Article,
}

/// The help of `--lock`.
fn locks() -> String {
    let [usual, of_many_cpus] = [100, 101].map(|cpus| Grid::usual(cpus).locks);
    let left_out = usual.iter().filter(|lock| !of_many_cpus.contains(lock));
    format!(
        "Locks: {} [default: {}; beyond 100 CPUs without {}]",
        named(&LockKind::ALL, ", "),
        named(&usual, ","),
        named(left_out, " and ")
    )
}

fn load(text: &str) -> Result<Arc<Load>, String> {
    loads::load(text)
        .map(Arc::new)
        .map_err(|why| why.to_string())
}

fn rate(text: &str) -> Result<f64, String> {
    // More than any memory takes.
    number(
        text,
        0.001..=100_000.0,
        "give a number of GB per second from 0.001 to 100000",
    )
}

fn preemption(text: &str) -> Result<Preemption, String> {
    let wrong = || "give how often and for how long, like 10ms/1ms".to_owned();
    let (every, length) = text.split_once('/').ok_or_else(wrong)?;
    let [every, length] = [every, length].map(str::parse::<Nanos>);
    let (every, length) = (every.map_err(|_| wrong())?, length.map_err(|_| wrong())?);
    if length >= every {
        return Err("it must be for less than how often it is".to_owned());
    }
    Ok(Preemption { every, length })
}

/// The bytes that a grid zeroes where no size is given.
const USUAL_SIZE: u64 = 1 << 30;

pub(crate) fn run(args: &SimulateArgs) -> Result<Done> {
    let arrives = |load: &Load| load.gb_per_s().is_some();
    if args.size.is_some() && args.load.as_deref().is_some_and(arrives) {
        bail!("the pages of this load arrive all the time; leave --size out");
    }
    if args.list {
        print(&computers())?;
        return Ok(Done::Whole);
    }
    if let Some(ids) = &args.validate {
        return validate(ids);
    }
    match args.story {
        Some(Story::Article) => tell_article(args),
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
    // Of the usual grid the impossible pools were not asked for.
    if grid != Grid::usual(machine.topology.cpus()) {
        for why in &left_out {
            say!("Impossible pools are left out: {why}.");
        }
    }
    let stop = stop::on_ctrl_c()?;
    let outputs = Outputs::new(&args.output)?;
    // Refused before anything is simulated.
    let most = settings.iter().map(|setting| setting.workers).max();
    machine.topology.placement(most.unwrap_or(0))?;
    say!(
        "zero simulate: {} pool{} on {}",
        settings.len(),
        prose::when(settings.len() > 1, || "s".to_owned()),
        machine.name
    );
    let mut bar = super::progress(&settings);
    let (all, mut results) = (settings.len(), Vec::new());
    for setting in settings {
        super::show(&mut bar, &setting);
        let job = Job {
            preemption: args.preempt,
            seed: args.seed,
            ..Job::new(setting, size(args).div_ceil(PAGE_BYTES))
        };
        let arrive = args.load.as_deref().map_or(args.arrive, Load::gb_per_s);
        let (machine, every) = (machine.clone(), args.every);
        let measured = stop::unless_stopped(&stop, move || match arrive {
            Some(gb_per_s) => simulation::measure_bursts(&machine, &job, gb_per_s, every),
            None => simulation::measure(&machine, &job),
        })?;
        let Some(measured) = measured else {
            break;
        };
        let failed = || {
            format!(
                "{} threads, batch {}, lock {}",
                setting.workers, setting.batch, setting.lock
            )
        };
        results.push(measured.with_context(failed)?);
    }
    drop(bar);
    let run = Run {
        interrupted: results.len() < all,
        ..simulation::run(&machine, results, session::command_line())
    };
    let about = args.load.as_ref().map(|load| load.in_words(size(args)));
    let about = about.map_or_else(String::new, |about| prose::paragraph(&about) + "\n");
    outputs.deliver(&run, &(about + &args.output.of(&run)))
}

/// How much is to be zeroed at a time.
fn size(args: &SimulateArgs) -> u64 {
    let usual = args.load.as_deref().map_or(USUAL_SIZE, Load::bytes);
    args.size.unwrap_or(usual)
}

fn machine(args: &SimulateArgs) -> Result<Machine> {
    if let Some(load) = &args.load {
        return Ok(load.pool().0);
    }
    let machine = Machine::parse(&args.on)?;
    let Some(file) = &args.matrix else {
        return Ok(machine);
    };
    let name = files::name(file);
    let text = files::text(file, files::LONGEST)?;
    let matrix = Matrix::parse(&text).map_err(|why| anyhow!("{name}: {why}"))?;
    Ok(machine.with_matrix(matrix))
}

/// The requested values, and the usual ones for the rest.
fn grid(args: &SimulateArgs, machine: &Machine) -> Grid {
    let usual = match &args.load {
        None => Grid::usual(machine.topology.cpus()),
        Some(load) => {
            let (_, setting) = load.pool();
            Grid {
                threads: vec![setting.workers],
                locks: vec![setting.lock],
                batches: vec![setting.batch],
                dequeue: setting.dequeue,
                returns: setting.returns,
            }
        }
    };
    Grid {
        threads: given(&args.threads, usual.threads),
        locks: given(&args.lock, usual.locks),
        batches: given(&args.batch, usual.batches),
        dequeue: args.dequeue,
        returns: args.returns,
    }
}

fn given<T: Clone>(list: &Option<List<T>>, usual: Vec<T>) -> Vec<T> {
    list.as_ref().map_or(usual, |list| list.0.clone())
}

fn tell_article(args: &SimulateArgs) -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    let outputs = Outputs::new(&args.output)?;
    let lines = article::lines();
    say!("zero simulate: {} pools", lines.len());
    let mut bar = Progress::alike(lines.len());
    let mut told = Vec::new();
    let mut results: Vec<ZeroRow> = Vec::new();
    for line in &lines {
        bar.step(line.what);
        let (line, seed) = (line.clone(), args.seed);
        let Some(one) = stop::unless_stopped(&stop, move || line.tell(seed))? else {
            break;
        };
        let (outcomes, measurement) = one?;
        told.push(outcomes);
        results.push(measurement);
    }
    drop(bar);
    let run = Run {
        machine: article::machine_facts(),
        interrupted: told.len() < lines.len(),
        results,
        ..session::run()
    };
    let text = || match told.is_empty() {
        true => String::new(),
        false => article::text(&lines, &told),
    };
    let verdict = (!told.is_empty()).then(|| article::verdict(&lines, &told));
    let sections = || ZeroRow::sections(&run);
    let shown = args.output.shown(verdict, text, sections);
    outputs.deliver(&run, &(shown + &how_far(told.len(), lines.len())))
}

/// Prints a line for each figure that the simulated pools are held against. The exit code tells
/// whether one deviates without an explanation.
fn validate(ids: &[String]) -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    let Validation { sources, rows } = Validation::load();
    let rows = chosen(rows, ids, |row| &row.id)?;
    say!("zero simulate: {} figures", rows.len());
    let mut bar = Progress::alike(rows.len());
    let mut findings = Vec::new();
    for row in &rows {
        bar.step(&row.id);
        let of = row.clone();
        let Some(finding) = stop::unless_stopped(&stop, move || of.run())? else {
            break;
        };
        findings.push((row, finding?));
    }
    drop(bar);
    let text = validation::text(&findings, &sources);
    print(&(text + &how_far(findings.len(), rows.len())))?;
    Ok(match findings.len() < rows.len() {
        true => Done::Interrupted,
        false => Done::of(validation::count(&findings, "differs") == 0),
    })
}

/// How many lines of a table there are, where the user did not wait for all.
fn how_far(done: usize, all: usize) -> String {
    match done < all {
        true => format!("Ended before its end: {done} of {all} lines were simulated.\n"),
        false => String::new(),
    }
}
