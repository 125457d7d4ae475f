//! `punctual sweep`.

mod folder;

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use punctual_lab::scenario::Scenario;
use punctual_lab::sweep::{Kept, Plan, Shard};
use punctual_report::{sweep_cells, sweep_figures, sweep_verdict};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::options::on_a_screen;
use crate::progress::Progress;
use crate::simulate::list::{Found, find};
use crate::{Done, files, print, say, session, stop};
use folder::{Folder, Journal};

/// Plans are far smaller.
const BYTES_MAX: u64 = 256 * 1024;

/// Runs the command.
pub(crate) fn run(args: &SweepArgs) -> Result<Done> {
    let name = files::name(&args.plan);
    let text = files::text(&args.plan, BYTES_MAX)?;
    let plan = Plan::read(&name, &text, &|scenario| {
        self::scenario(&args.plan, scenario)
    });
    let plan = plan.map_err(|why| anyhow!(why))?;
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let beside = || args.plan.with_extension("sweep");
    let out = args.out.clone().unwrap_or_else(beside);
    let folder = Folder::new(&out, args.shard)?;

    let mut kept = Kept::new(&plan);
    folder.read(&mut kept, args.resume)?;
    let missing = kept.missing(shard);
    let count = kept.count(shard);
    let journal = folder.journal(&kept.rows(shard))?;
    let began = Instant::now();
    let ended = simulate((&plan, &mut kept), &missing, journal, args.jobs)?;
    if ended {
        let done = count - kept.missing(shard).len();
        say!(
            "{done} of {count} places are kept in {}; --resume runs the rest",
            folder.name()
        );
        return Ok(Done::Interrupted);
    }
    say!(
        "{} of {count} places in {:.1} s, all others were there",
        missing.len(),
        began.elapsed().as_secs_f64()
    );
    match args.shard {
        Some(shard) => {
            folder.keep_part(&kept.rows(shard))?;
            say!(
                "shard {shard} is in {}; when all are: --resume without a shard",
                folder.name()
            );
        }
        None => deliver(&folder, &kept)?,
    }
    Ok(Done::Whole)
}

/// A scenario by its name, or its path from where the plan is.
fn scenario(plan: &Path, name: &str) -> Result<Scenario, String> {
    let beside = plan.with_file_name(name);
    let path = match beside.exists() {
        true => beside.to_string_lossy().into_owned(),
        false => name.to_owned(),
    };
    match find(&path).map_err(|why| format!("{why:#}"))? {
        Found::Scenario(scenario) => Ok(*scenario),
        Found::Robustness => Err(format!("`{name}` is no scenario of a file")),
    }
}

/// Runs what is missing, each unit on one of the CPUs, and keeps it as it comes. Whether
/// the user ended it.
fn simulate(
    (plan, kept): (&Plan, &mut Kept<'_>),
    missing: &[usize],
    mut journal: Journal,
    jobs: Option<u16>,
) -> Result<bool> {
    let stop = stop::on_ctrl_c()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.map_or(0, usize::from));
    let pool = pool.build().context("cannot start threads")?;
    let mut progress = Progress::alike(missing.len());
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        let to_stop = stop.clone();
        // It has the sender: nothing more is told when all of it is over.
        let unit = move |unit: &usize| {
            if to_stop.is_requested() {
                return Err(());
            }
            // The receiver is gone if something could not be kept.
            tell.send((*unit, plan.run(&plan.units()[*unit])))
                .map_err(|_| ())
        };
        scope.spawn(move || {
            let _ = pool.install(|| missing.par_iter().try_for_each(unit));
        });
        for (done, (unit, rows)) in told.into_iter().enumerate() {
            let rows = rows.map_err(|why| anyhow!(why))?;
            progress.at(done, &plan.units()[unit].in_words());
            journal.add(&rows)?;
            kept.add(unit, rows);
        }
        Ok(stop.is_requested())
    })
}

/// Writes all rows in the order of the plan, and what they say.
fn deliver(folder: &Folder, kept: &Kept<'_>) -> Result<()> {
    for (model, rows) in kept.partitions() {
        folder.write_rows(model, &rows)?;
    }
    let sweep = kept.sweep().map_err(|why| anyhow!(why))?;
    files::write_figures(folder.path(), &sweep_figures(&sweep))?;
    let verdict = sweep_verdict(&sweep, &session::command_line());
    // Wherever the plan was, and in however many turns it was run.
    let text = sweep_verdict(&sweep, "punctual sweep").text(usize::MAX);
    let write = |name: &str, text: &str| files::Target::new(&folder.path().join(name))?.write(text);
    write("summary.txt", &text)?;
    write("cells.csv", &sweep_cells(&sweep))?;
    folder.forget_parts();
    print(&on_a_screen(&verdict))?;
    Ok(())
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Run a plan of simulations: strategies or scenarios over lists and ranges of parameters, each with several seeds.

A plan is a TOML file; docs/sweeping.md of the repository has all its keys. A cell is one combination of the values in it. In \
each cell the first strategy is compared with the cheapest of the others, or a number of a scenario is shown. A cell gets no \
more seeds once its confidence interval is narrow enough. The rows go to a folder, as lines of JSON by model, with a table \
of cells, a summary and heat maps. The same plan gives the same bytes everywhere, however many CPUs, shards, computers and \
interruptions it took.";

/// The end of its help.
pub(crate) const AFTER: &str = "\
An example of a plan:
  title = \"what a sleep costs on Linux\"
  on = [\"linux-6.18\"]
  strategies = [\"adaptive:weight={weight}\", \"fixed-margin\", \"system\"]
  waits = [\"60Hz\", \"1000Hz\"]
  weight = [1, 10, 100]
  seeds = { least = 6, most = 12 }
  within = \"5%\"

In the folder are model=NAME/rows.ndjson, cells.csv, summary.txt and map-*.svg; parts/ holds what is not whole yet. Ctrl-C, or a \
kill, keeps what is done: --resume runs the rest. To use several computers, run each shard with the same folder, or put \
their parts/ into one, and end with --resume without a shard. sweeps/ray of the repository runs shards on a Ray cluster.

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was simulated is kept).

Examples:
  punctual sweep plan.toml
  punctual sweep plan.toml --resume
  punctual sweep plan.toml --out /shared/rows --shard 3/8
  punctual sweep plan.toml --out rows --shard $SLURM_ARRAY_TASK_ID/100";

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The plan (- is standard input)
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    /// The folder for the results [default: the plan's path, .sweep for .toml; -.sweep for -]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,

    /// Run only part K of N, into FOLDER/parts: 3/8 is the third of eight
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,

    /// Run only what is missing in the folder
    #[arg(long)]
    pub(crate) resume: bool,

    /// Run on N CPUs at a time [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}
