//! What `punctual simulate` takes.

use std::path::PathBuf;

use clap::Args;
use punctual_core::Nanos;
use punctual_lab::scenario::{self, Question, shipped};
use punctual_sim::{Limits, Model};

use crate::options::Output;
use crate::values::{model, seed};

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Run a scenario on simulated computers, in virtual time.

A scenario is a TOML file: phases, processes with what they do, and what its sources say comes out of it. It says itself \
on which models it runs. Each runs on its own; the report puts them side by side: how often each thread wakes, how long \
its sleeps are, what it reads of the OS, what the computer does meanwhile, and whether all that is as expected. The same \
scenario, model and seed give the same bytes everywhere.";

/// What its help ends with.
pub(crate) fn after() -> String {
    let Limits { steps, samples, .. } = scenario::LIMITS;
    let threads = scenario::THREADS;
    let scenarios: Vec<_> = shipped::ALL.iter().map(|shipped| shipped.name).collect();
    format!(
        "\
Scenarios: {}, and robustness, which is `bench robustness`. A name of one of these means that; else it is the path of a \
file.

Limits: a simulation is given up after {steps} steps or {samples} sleeps and readings. A file has at most 256 KiB, \
starts at most {threads} threads and lasts at most an hour of virtual time.

Exit codes: 0 done and as expected, 1 something is not as expected, 2 could not run.

Examples:
  punctual simulate --list
  punctual simulate lowest-request-wins
  punctual simulate lowest-request-wins --on windows-10-2004
  punctual simulate linux-slack-sweep --on linux,slack=100us --for 1s
  punctual simulate mine.toml --json mine.json --plots figures
  punctual simulate change-interval --on windows-10-2004 --explain measure:100
  punctual simulate game-loop --on linux --trace trace.json",
        scenarios.join(", ")
    )
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The name of a scenario that comes with punctual, or the path of a file (- is standard input)
    #[arg(value_name = "NAME|FILE", required_unless_present_any = ["list", "validate"])]
    pub(crate) scenario: Option<String>,

    /// Run on this model, with parameters after commas, instead of those of the scenario; can be repeated
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub(crate) on: Vec<Model>,

    /// The seed of the simulation's chances [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Let it last so long, all phases stretched or shortened alike: 500ms, 60s
    #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) length: Option<Nanos>,

    /// Write what happened on one model to a file that Perfetto (ui.perfetto.dev) opens (- is standard output)
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,

    /// Say why a wake came when it did, and nothing else: the Nth wake of a thread, or its first from a time on
    #[arg(long, value_name = "THREAD:N|THREAD@TIME", conflicts_with_all = ["json", "plots", "trace"])]
    pub(crate) explain: Option<Question>,

    /// List the scenarios, and the models with their parameters
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,

    /// Compare the models with what is published of their systems
    #[arg(long, exclusive = true)]
    pub(crate) validate: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}
