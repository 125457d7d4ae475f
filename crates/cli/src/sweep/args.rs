//! What `punctual sweep` takes.

use std::path::PathBuf;

use clap::Args;
use punctual_lab::sweep::Shard;

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Run a plan of simulations: strategies or scenarios over lists and ranges of parameters, each with several seeds.

A plan is a TOML file (docs/sweeping.md). Of each cell of it the first strategy is compared with the cheapest of the others, or \
a figure of a scenario is shown, and no more seeds are run where its interval is narrow enough. The rows go to a folder, as \
lines of JSON by model, with a table of cells, a summary and heat maps. The same plan gives the same bytes everywhere, however many CPUs, \
shards, computers and interruptions it took.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
In the folder are model=NAME/rows.ndjson, cells.csv, summary.txt and map-*.svg; parts/ holds what is not whole yet. Ctrl-C, or a \
kill, keeps what is done: --resume runs the rest. To use several computers, run each shard with the same folder, or put \
their parts/ into one, and end with --resume without a shard. sweeps/ray runs shards on a Ray cluster.

Exit codes: 0 done, 2 could not run, 3 ended by the user before its end.

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

    /// The folder for what comes of it [default: the plan's name, with .sweep for .toml]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,

    /// Run this part of so many alike, into FOLDER/parts: 3/8 is the third of eight
    #[arg(long, value_name = "K/N")]
    pub(crate) shard: Option<Shard>,

    /// Run only what is missing in the folder
    #[arg(long)]
    pub(crate) resume: bool,

    /// Run on so many CPUs at a time [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}
