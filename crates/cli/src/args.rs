//! The command line: its commands, and how values are read that several of them
//! take. What each command takes is in its folder.

use std::process::ExitCode;
use std::str::FromStr;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use punctual_core::Nanos;
use punctual_sim::Model;

use crate::bench::args::{self as bench, BenchArgs};
use crate::compare::args::{self as compare, CompareArgs};
use crate::doctor::args::{self as doctor, DoctorArgs};
use crate::exec::args::{self as exec, ExecArgs};
use crate::measure::args::{self as measure, MeasureArgs};
use crate::models;
use crate::resolution::args::{self as resolution, ResolutionArgs};
use crate::simulate::args::{self as simulate, SimulateArgs};
use crate::slack::args::{self as slack, SlackArgs};
use crate::watch::args::{self as watch, WatchArgs};

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
    /// Measure what the clocks, timers and scheduler of this OS really do, or a simulated one's (about 60 s)
    #[command(long_about = measure::ABOUT, after_long_help = measure::AFTER)]
    Measure(Box<MeasureArgs>),

    /// Say why waits are late here: the timer rule in force, its prediction beside what is measured, and what helps (about 10 s)
    #[command(long_about = doctor::ABOUT, after_long_help = doctor::AFTER)]
    Doctor(Box<DoctorArgs>),

    /// Watch how late this machine's timers are, live, with the cause of each hiccup where a counter shows it
    #[command(long_about = watch::ABOUT, after_long_help = watch::AFTER)]
    Watch(Box<WatchArgs>),

    /// Race ways of waiting: how late and how expensive each is, here or on a simulated OS (about 60 s)
    #[command(long_about = bench::ABOUT, after_long_help = bench::after())]
    Bench(Box<BenchArgs>),

    /// Set Runs of machines or versions side by side, with intervals and what others have published; fail on rules in CI
    #[command(long_about = compare::ABOUT, after_long_help = compare::after())]
    Compare(Box<CompareArgs>),

    /// Run a scenario, a whole computer with its programs, under the timer rules of each OS, in virtual time
    #[command(long_about = simulate::ABOUT, after_long_help = simulate::after())]
    Simulate(Box<SimulateArgs>),

    /// Show, hold or step through the timer slack of a process on Linux
    #[command(long_about = slack::ABOUT, after_long_help = slack::AFTER)]
    Slack(SlackArgs),

    /// Show, hold or step through the timer interval of Windows
    #[command(long_about = resolution::ABOUT, after_long_help = resolution::AFTER)]
    Resolution(ResolutionArgs),

    /// Start a program with a timer slack or a priority of its own
    #[command(long_about = exec::ABOUT, after_long_help = exec::AFTER)]
    Exec(ExecArgs),

    /// One process of an experiment, for the one that started it
    #[command(hide = true)]
    RunProgram,
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

pub(crate) fn list<T: FromStr>(text: &str) -> Result<List<T>, String>
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

pub(crate) fn rounds(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1_000).contains(n))
        .ok_or_else(|| "give a whole number from 1 to 1000".to_owned())
}

/// A length that is longer than nothing.
pub(crate) fn length(text: &str) -> Result<Nanos, String> {
    let length: Nanos = text.parse()?;
    if length.is_zero() {
        return Err("it must be longer than nothing".to_owned());
    }
    Ok(length)
}

pub(crate) fn cpu(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "give the number of a CPU, counted from 0".to_owned())
}

pub(crate) fn load(text: &str) -> Result<f64, String> {
    let fits = |n: &f64| (0.0..=64.0).contains(n);
    text.parse()
        .ok()
        .filter(fits)
        .ok_or_else(|| "give a number of threads per CPU from 0 to 64".to_owned())
}

pub(crate) fn model(text: &str) -> Result<Model, String> {
    models::parse(text)
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
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
