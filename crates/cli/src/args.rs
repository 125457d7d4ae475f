//! The command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use punctual_core::{Nanos, Rate, Spec};
use punctual_lab::scenario::{self, Question, shipped};
use punctual_sim::{Limits, Model};

use crate::{models, peers};

/// Waits exactly as long as you asked, and shows why your OS would not.
#[derive(Debug, Parser)]
#[command(
    name = "punctual",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Race ways of waiting: how late and how expensive each is, here or on a simulated OS (about 60 s)
    #[command(long_about = BENCH_ABOUT, after_long_help = bench_after())]
    Bench(Box<BenchArgs>),

    /// Run a scenario, a whole computer with its programs, under the timer rules of each OS, in virtual time
    #[command(long_about = SIMULATE_ABOUT, after_long_help = simulate_after())]
    Simulate(Box<SimulateArgs>),
}

const BENCH_ABOUT: &str = "\
Race ways of waiting: how late and how expensive each of them is.

Without a subcommand: loops at 60 Hz and 1000 Hz, every strategy and every peer in rounds, each in a fresh \
thread kept on one CPU. Takes under 60 s; says how long before it begins.";

/// What the help lists is what there is.
fn bench_after() -> String {
    let strategies: Vec<_> = Spec::ALL.iter().map(|spec| spec.name()).collect();
    let peers: Vec<_> = peers::names().collect();
    let models: Vec<_> = Model::known()
        .iter()
        .map(|known| format!("  {}: {}", known.name, known.what))
        .collect();
    format!(
        "\
Strategies: {}; with parameters after a colon: precise:x=2, fixed-margin:margin=200us, \
system:method=timerfd, adaptive:weight=30. Peers: {}.

Models, with parameters after commas, linux,slack=1ns:
{}
  {}: what `bench naps --json FILE` saw of a real computer, or the lateness in another Run

Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual bench
  punctual bench --rate 144,240 --strategy system,fixed-margin,spin_sleep
  punctual bench --load 1 --json loaded.json --plots figures
  punctual bench --on linux,slack=1ns
  punctual bench naps --json naps.json
  punctual bench --on recorded,file=naps.json
  punctual bench --rate 1000 --strategy precise,adaptive-exact --explain
  punctual bench article --plots figures",
        strategies.join(", "),
        if peers.is_empty() {
            "none in this build".to_owned()
        } else {
            peers.join(", ")
        },
        models.join("\n"),
        models::SYNTAX,
    )
}

const SIMULATE_ABOUT: &str = "\
Run a scenario on simulated computers, in virtual time.

A scenario is a TOML file: phases, processes with what they do, and what its sources say comes out of it. It says itself \
on which models it runs. Each runs on its own; the report puts them side by side: how often each thread wakes, how long \
its sleeps are, what it reads of the OS, what the computer does meanwhile, and whether all that is as expected. The same \
scenario, model and seed give the same bytes everywhere.";

fn simulate_after() -> String {
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
  punctual simulate game-loop --on linux --trace trace.json    (opens in https://ui.perfetto.dev)",
        scenarios.join(", ")
    )
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// The name of a scenario that comes with punctual, or the path of a file
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

    /// Write the Run, with every sample, to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Draw the figures into a directory, as SVG
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,

    /// Write what happened on one model to a file that Perfetto (ui.perfetto.dev) opens
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
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) experiment: Option<Experiment>,

    /// Rates to loop at, in Hz: 60, 59.94, 60000/1001 [default: 60,1000]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, value_parser = list::<Rate>)]
    pub(crate) rate: Option<List<Rate>>,

    /// Say at the end what the strategies that learn had learned, and what they would do with it
    #[arg(long)]
    pub(crate) explain: bool,

    /// How often every subject gets its turn; six are the fewest for 95 % intervals [default: 6; naps 10, decades 3, interval 1]
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = rounds)]
    pub(crate) rounds: Option<u32>,

    /// Strategies and peers to compare [default: all of them; article: the article's four]
    #[arg(long, value_name = "LIST", global = true, value_parser = list::<String>)]
    pub(crate) strategy: Option<List<String>>,

    /// The CPU to measure on [default: the last one]
    #[arg(long, value_name = "K", global = true, allow_hyphen_values = true, value_parser = cpu)]
    pub(crate) cpu: Option<usize>,

    /// Threads that compute all the time beside the measurement, per CPU: 0.5, 1, 2
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = load)]
    pub(crate) load: Option<f64>,

    /// Run on a simulated OS in virtual time instead of on this machine
    #[arg(long, value_name = "MODEL", global = true, value_parser = model)]
    pub(crate) on: Option<Model>,

    /// The seed of a simulation's chances; the same seed gives the same output [default: 1]
    #[arg(long, value_name = "N", global = true, allow_hyphen_values = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,

    /// Write the Run, with every sample, to a file
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) json: Option<PathBuf>,

    /// Draw the figures into a directory, as SVG
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) plots: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub(crate) enum Experiment {
    /// Single waits from 1 ns to 1 s: how late? (about 60 s)
    Decades,
    /// CPU time at intervals of 1 to 25 ms (about 60 s)
    Interval,
    /// What strategies make of a scheduler that steals time; simulated (under 1 s)
    Robustness,
    /// How much longer than asked naps are, by OS call and length, and their CPU time (about 45 s)
    ///
    /// No strategy waits here: each OS call that a strategy could use is made again and again, for lengths from 10 us to
    /// 16.7 ms. The model `recorded,file=F` replays what `--json F` wrote.
    Naps,
    /// The accurate-sleep article at its own sizes: 1000 frames, 100 waits per decade, CPU by interval, heat map (about 11 minutes)
    Article,
}

/// A list after an option.
///
/// Not a `Vec`, which clap would take to mean an option given several times.
#[derive(Clone, Debug)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

/// Reads the command line. `Err` is the exit code when it has been answered or
/// refused already.
pub(crate) fn parse() -> Result<Command, ExitCode> {
    Cli::try_parse()
        .map(|cli| cli.command)
        .map_err(|error| ExitCode::from(answer(&error)))
}

/// The command as the user typed it, but for the path of the program.
pub(crate) fn command_line() -> String {
    let quoted = |arg: std::ffi::OsString| {
        let arg = arg.to_string_lossy().into_owned();
        if arg.is_empty() || arg.contains(char::is_whitespace) {
            format!("'{arg}'")
        } else {
            arg
        }
    };
    let args = std::env::args_os().skip(1).map(quoted);
    std::iter::once("punctual".to_owned())
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Prints what was asked for, or what is wrong, and returns the exit code.
fn answer(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    let asked_for = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if !asked_for && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        eprintln!("{}", one_line(&text));
        return 2;
    }
    let printed = super::print(&text).is_ok();
    if asked_for && printed { 0 } else { 2 }
}

/// The first paragraph of clap's message, without its "For more information"
/// and usage.
fn one_line(message: &str) -> String {
    let first = message.split("\n\n").next().unwrap_or(message);
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn list<T: FromStr>(text: &str) -> Result<List<T>, String>
where
    T::Err: ToString,
{
    let items = text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    let items = items
        .map(|item| item.parse().map_err(|e: T::Err| e.to_string()))
        .collect::<Result<Vec<T>, _>>()?;
    if items.is_empty() {
        return Err("the list is empty".to_owned());
    }
    Ok(List(items))
}

fn rounds(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1_000).contains(n))
        .ok_or_else(|| "give a whole number from 1 to 1000".to_owned())
}

fn cpu(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "give the number of a CPU, counted from 0".to_owned())
}

fn load(text: &str) -> Result<f64, String> {
    let fits = |n: &f64| (0.0..=64.0).contains(n);
    text.parse()
        .ok()
        .filter(fits)
        .ok_or_else(|| "give a number of threads per CPU from 0 to 64".to_owned())
}

fn model(text: &str) -> Result<Model, String> {
    models::parse(text)
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "give a whole number from 0 to 18446744073709551615".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_message_is_one_line() {
        let error = Cli::try_parse_from(["punctual", "bench", "--rate", "0"]).unwrap_err();
        let line = one_line(&error.render().to_string());
        assert!(
            line.contains("`0` is not a rate") && !line.contains("For more"),
            "{line}"
        );
    }
}
