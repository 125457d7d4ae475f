//! The command line. What each command takes is in its folder.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::bench::args::{self as bench, BenchArgs};
use crate::compare::args::{self as compare, CompareArgs};
use crate::doctor::args::{self as doctor, DoctorArgs};
use crate::exec::args::{self as exec, ExecArgs};
use crate::measure::args::{self as measure, MeasureArgs};
use crate::resolution::args::{self as resolution, ResolutionArgs};
use crate::say;
use crate::simulate::args::{self as simulate, SimulateArgs};
use crate::slack::args::{self as slack, SlackArgs};
use crate::watch::args::{self as watch, WatchArgs};
use crate::zero::args::{self as zero, ZeroArgs};

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

    /// Measure and simulate what zeroing pages costs, and say how to make it cheaper
    #[command(long_about = zero::ABOUT)]
    Zero(ZeroArgs),

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

    /// One process of those that allocate pages, for the one that started it
    #[command(hide = true)]
    RunPages,
}

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
        say!("{}", one_line(&text));
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
