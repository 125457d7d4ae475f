//! The `punctual` command.
//!
//! Exit codes:
//!
//! - 0: done;
//! - 1: a check or rule failed;
//! - 2: could not run;
//! - 3: ended early by the user (measurements are printed and written all the same), or not all of
//!   it could be observed or judged.

// A closed standard error must not end the process: see `say!`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod asked;
mod bench;
mod compare;
mod completions;
mod console;
mod doctor;
mod emulate;
mod exec;
mod files;
mod host;
mod identify;
mod import;
mod measure;
mod options;
mod progress;
mod report;
mod resolution;
mod session;
mod simulate;
mod slack;
mod stop;
mod sweep;
mod trace;
mod values;
mod watch;
mod zero;

use std::io::IsTerminal;
use std::process::ExitCode;

use args::Command;
use console::{print, say};
use punctual_record::compare::RuleOutcome;

fn main() -> ExitCode {
    match host::process() {
        Some(done) => finish(done),
        None => command(),
    }
}

/// Does what the user typed.
fn command() -> ExitCode {
    let command = match args::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    // The program that it starts has the exit code.
    if let Command::Emulate(args) = &command {
        return emulate::run(args);
    }
    if let Command::Exec(args) = &command
        && args.accurate
    {
        return emulate::accurate(args);
    }
    // A file has the lines that it would have without a terminal.
    let columns = console::columns().filter(|_| std::io::stdout().is_terminal());
    if let Command::Trace(args) = &command {
        return punctual_report::within_columns(columns, || trace::run(args));
    }
    let done = punctual_report::within_columns(columns, || match command {
        Command::Bench(args) => bench::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Measure(args) => measure::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Resolution(args) => resolution::run(&args),
        Command::Slack(args) => slack::run(&args),
        Command::Completions(args) => completions::run(&args, args::definition()),
        Command::Man(args) => args::man(&args, args::definition()),
        Command::Emulate(_) | Command::Trace(_) => Ok(Done::Whole),
        Command::Exec(args) => exec::run(&args).map(|never| match never {}),
        Command::Sweep(args) => sweep::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Identify(args) => identify::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Zero(args) => zero::run(&args),
    });
    finish(done)
}

fn finish(done: anyhow::Result<Done>) -> ExitCode {
    match done {
        Ok(Done::Whole) => ExitCode::SUCCESS,
        Ok(Done::Differs) => ExitCode::from(1),
        Ok(Done::Interrupted | Done::Inconclusive) => ExitCode::from(3),
        Err(error) => {
            // One line: what failed, why, what to do.
            say!("{}", args::with_guess(format!("error: {error:#}")));
            ExitCode::from(2)
        }
    }
}

/// How a command ended.
enum Done {
    /// It did all it was asked to.
    Whole,
    /// It did, and something is not as it should be.
    Differs,
    /// The user ended it; what it has is kept.
    Interrupted,
    /// It did, but not all of it could be seen or judged.
    Inconclusive,
}

impl Done {
    /// The exit code by whether everything is right.
    fn of(is_right: bool) -> Self {
        match is_right {
            true => Self::Whole,
            false => Self::Differs,
        }
    }

    /// The exit code by the outcomes of rules; a failure counts more than an inconclusive rule.
    fn by(outcomes: impl IntoIterator<Item = RuleOutcome>) -> Self {
        outcomes
            .into_iter()
            .fold(Self::Whole, |done, outcome| match (done, outcome) {
                (Self::Differs, _) | (_, RuleOutcome::Fails) => Self::Differs,
                (_, RuleOutcome::Inconclusive) => Self::Inconclusive,
                (done, RuleOutcome::Passes) => done,
            })
    }

    /// The exit code unless the user ended it.
    fn unless(is_ended: bool) -> Self {
        match is_ended {
            true => Self::Interrupted,
            false => Self::Whole,
        }
    }
}
