//! The command line, and the parsing of its definition. The arguments of each command are in its
//! folder.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command as Definition, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::bench::{self, BenchArgs};
use crate::compare::{self, CompareArgs};
use crate::completions::{self, CompletionsArgs};
use crate::doctor::{self, DoctorArgs};
use crate::emulate::{self, EmulateArgs};
use crate::exec::{self, ExecArgs};
use crate::identify::{self, IdentifyArgs};
use crate::import::{self, ImportArgs};
use crate::measure::{self, MeasureArgs};
use crate::report::{self, ReportArgs};
use crate::resolution::{self, ResolutionArgs};
use crate::simulate::{self, SimulateArgs};
use crate::slack::{self, SlackArgs};
use crate::sweep::{self, SweepArgs};
use crate::trace::{self, TraceArgs};
use crate::watch::{self, WatchArgs};
use crate::zero::{self, ZeroArgs};
use crate::{Done, files, print, say};

/// Waits exactly as long as you asked, and shows why your OS would not.
#[derive(Debug, Parser)]
#[command(
    name = "punctual",
    version,
    arg_required_else_help = true,
    after_help = QUESTIONS
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Which command answers what.
const QUESTIONS: &str = "\
Start with doctor. A command for each question:
  punctual doctor           Why are waits late here, and what helps?
  punctual bench            Which way of waiting is best here, at what cost?
  punctual trace -- ./game  Why is my program late?
  punctual watch            Is this computer noisy now, and what disturbs it?
  punctual measure          What do its clocks, timers and scheduler do?
  punctual compare A B      What did an update or another computer change?
  punctual import LOG       How late are the waits in a log of another program?
  punctual identify LOG     Which timer rule made the waits in a log?
  punctual report           How do I keep or mail all of that, as one page?
  punctual bench --on windows-10-2004
                            How would my waits do on another OS?
  punctual simulate lowest-request-wins
                            Why does Sleep(1) take 15 ms on Windows?
  punctual sweep plan.toml  Where does a way of waiting win, and where lose?
  punctual zero advise      How many threads and which lock should zero memory?

`punctual help COMMAND` tells all about one of them. A Run is the JSON file of results that --json writes (that of `compare` \
is no Run). A timer rule is how an OS ends sleeps.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure what the clocks, timers and scheduler of this OS, or of a simulated one, really do (about 50 s)
    #[command(long_about = measure::about(), after_long_help = measure::AFTER)]
    Measure(Box<MeasureArgs>),

    /// Say why waits are late here: the timer rule in force, its prediction beside what is measured, and what helps (about 10 s)
    #[command(long_about = doctor::ABOUT, after_long_help = doctor::AFTER)]
    Doctor(Box<DoctorArgs>),

    /// Watch how late this computer's timers are, live, with the cause of each hiccup where a counter shows it
    #[command(long_about = watch::ABOUT, after_long_help = watch::AFTER)]
    Watch(Box<WatchArgs>),

    /// Say how late the timed waits of other programs end, and why: slack, interrupts, busy CPUs, quotas
    #[command(long_about = trace::ABOUT, after_long_help = trace::AFTER)]
    Trace(Box<TraceArgs>),

    /// Race ways of waiting: how late and how expensive each is, here or on a simulated OS (about 110 s)
    #[command(long_about = bench::ABOUT, after_long_help = bench::after())]
    Bench(Box<BenchArgs>),

    /// Set Runs of computers or versions side by side, with confidence intervals and published values; check rules in CI
    #[command(long_about = compare::ABOUT, after_long_help = compare::after())]
    Compare(Box<CompareArgs>),

    /// Write one HTML file with answers, figures and tables: of Runs, or of a quick measurement of everything (about a minute)
    #[command(long_about = report::ABOUT, after_long_help = report::AFTER)]
    Report(ReportArgs),

    /// Say which timer rule made the waits of a log, of a command, or of this computer
    #[command(long_about = identify::ABOUT, after_long_help = identify::AFTER)]
    Identify(Box<IdentifyArgs>),

    /// Read logs of other programs: cyclictest, frame logs, strace, perf, HdrHistogram, CSV
    #[command(long_about = import::ABOUT, after_long_help = import::AFTER)]
    Import(Box<ImportArgs>),

    /// Run a scenario, a whole computer with its programs, under the timer rules of each OS, in virtual time
    #[command(long_about = simulate::ABOUT, after_long_help = simulate::after())]
    Simulate(Box<SimulateArgs>),

    /// Run a plan of simulations over lists and ranges of parameters on all CPUs, in shards, and go on where it was interrupted
    #[command(long_about = sweep::ABOUT, after_long_help = sweep::AFTER)]
    Sweep(SweepArgs),

    /// Measure and simulate what zeroing pages costs, and say how to make it cheaper
    #[command(long_about = zero::ABOUT)]
    Zero(ZeroArgs),

    /// Show, hold or step through the timer slack of a process on Linux
    #[command(long_about = slack::ABOUT, after_long_help = slack::AFTER)]
    Slack(SlackArgs),

    /// Show, hold or step through the timer interval of Windows
    #[command(long_about = resolution::ABOUT, after_long_help = resolution::AFTER)]
    Resolution(ResolutionArgs),

    /// Start a program with a timer slack or a priority of its own, or with waits that end on time
    #[command(long_about = exec::ABOUT, after_long_help = exec::AFTER)]
    Exec(ExecArgs),

    /// Start a program whose timed waits end when those of another system would
    #[command(long_about = emulate::ABOUT, after_long_help = emulate::AFTER)]
    Emulate(Box<EmulateArgs>),

    /// Print the script that completes commands and options in a shell
    #[command(after_help = completions::AFTER)]
    Completions(CompletionsArgs),

    /// Write the manual, a page for each command
    Man(ManArgs),
}

/// Reads the command line. `Err` is the exit code when it has been answered or
/// refused already.
pub(crate) fn parse() -> Result<Command, ExitCode> {
    definition()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map(|cli| cli.command)
        .map_err(|error| {
            // That of a program that `emulate`, `exec --accurate` or `trace` starts can be anything below.
            let mut words = std::env::args_os().skip(1);
            let of_program = match words.next() {
                Some(name) if name == "exec" => words
                    .take_while(|word| word != "--")
                    .any(|word| word == "--accurate"),
                Some(name) if name == "trace" => words.any(|word| word == "--"),
                name => name.is_some_and(|name| name == "emulate"),
            };
            match answer(&error) {
                2 if of_program => ExitCode::from(exec::REFUSED),
                code => ExitCode::from(code),
            }
        })
}

/// The definition of the command line. Help is as wide as the terminal, but lines of more than 100
/// columns are hard to read.
pub(crate) fn definition() -> Definition {
    let is_seen = std::io::stdout().is_terminal() || std::io::stderr().is_terminal();
    let mut whole = Cli::command();
    // Now each command has the options that those above it hand down.
    whole.build();
    let whole = whole.mut_subcommand("bench", bench::without_what_means_nothing);
    whole.max_term_width(if is_seen { 100 } else { 80 })
}

/// Prints what was asked for, or what is wrong, and returns the exit code.
fn answer(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    let asked_for = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if !asked_for && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say!("{}", one_line(error));
        return 2;
    }
    let printed = print(&text).is_ok();
    if asked_for && printed { 0 } else { 2 }
}

/// The first paragraph of clap's message, and what was meant, or where that
/// is told.
fn one_line(error: &clap::Error) -> String {
    if let Some(missing) = missing(error) {
        return missing;
    }
    let message = error.render().to_string();
    let first = message.split("\n\n").next().unwrap_or(&message);
    let first: Vec<&str> = first.split_whitespace().collect();
    let meant = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let meant = meant.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(name) => Some(name),
        ContextValue::Strings(names) => names.first(),
        _ => None,
    });
    let advice = match (meant, error.kind()) {
        (Some(name), _) => format!("; did you mean `{name}`?"),
        // The error of a value names the right ones.
        (None, ErrorKind::ValueValidation) => return with_guess(first.join(" ")),
        (None, _) => "; try --help".to_owned(),
    };
    first.join(" ") + &advice
}

/// The arguments that are missing, each with its help; `None` of any other error.
fn missing(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(names)) = error
        .get(ContextKind::InvalidArg)
        .filter(|_| error.kind() == ErrorKind::MissingRequiredArgument)
    else {
        return None;
    };
    let usage = error.get(ContextKind::Usage)?.to_string();
    let words = usage
        .split_whitespace()
        .skip_while(|word| *word != "Usage:");
    let is_name = |word: &&str| !word.starts_with(['[', '<', '-']);
    let path: Vec<&str> = words.skip(1).take_while(is_name).collect();
    let mut command = definition();
    for name in path.iter().skip(1) {
        command = command.find_subcommand(name)?.clone();
    }
    let explained = names.iter().map(|name| {
        let mut of = command.get_arguments();
        let same = |arg: &&clap::Arg| {
            arg.to_string().trim_matches(['[', ']']) == name.trim_matches(['<', '>'])
        };
        let help = of
            .find(|arg| same(arg) || arg.to_string() == *name)?
            .get_help()?;
        Some(format!("{name}: {help}"))
    });
    let explained: Option<Vec<String>> = explained.collect();
    let path = path.join(" ");
    Some(format!(
        "error: {path} needs {}; `{path} --help` has examples",
        explained?.join("; and ")
    ))
}

/// The same, with what was meant: of the names that `message` lists, the one
/// most like the one before them in backticks, which it refuses.
pub(crate) fn with_guess(message: String) -> String {
    let guess = message.split_once(", ").and_then(|(begin, rest)| {
        let refused = begin.rsplit('`').nth(1)?.split([',', ':']).next()?;
        let listed = std::iter::once(begin).chain(rest.split(", "));
        let names = listed.filter_map(|item| item.split_ascii_whitespace().last());
        let alike = names.map(|name| (strsim::normalized_damerau_levenshtein(refused, name), name));
        let (_, name) = alike
            .filter(|(how_much, _)| (ALIKE..1.0).contains(how_much))
            .max_by(|one, other| one.0.total_cmp(&other.0))?;
        Some(format!("; did you mean `{name}`?"))
    });
    message + &guess.unwrap_or_default()
}

/// More of their letters than confusable names share.
const ALIKE: f64 = 0.5;

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory for the pages, made if it is missing; `man DIR/punctual.1` shows the first page
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Writes a page for each command.
pub(crate) fn man(args: &ManArgs, definition: Definition) -> anyhow::Result<Done> {
    files::directory(&args.directory, "manual pages")?;
    clap_mangen::generate_to(without_help(definition), &args.directory)
        .with_context(|| format!("cannot write into {}", args.directory.display()))?;
    Ok(Done::Whole)
}

/// The same without its `help` commands, which would get a page for each command that they explain.
fn without_help(command: Definition) -> Definition {
    command.mut_subcommands(|below| match below.get_name() {
        "help" => below.hide(true),
        _ => without_help(below),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The command and all below it.
    fn commands(command: &Definition) -> Vec<Definition> {
        let below = command.get_subcommands().flat_map(commands);
        std::iter::once(command.clone()).chain(below).collect()
    }

    #[test]
    fn help_fits_80_columns_without_breaking_an_example() {
        let all = commands(&definition());
        assert!(all.len() > 20);
        for command in all {
            let mut command = command.term_width(80);
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                let wide = help.lines().find(|line| line.chars().count() > 80);
                assert_eq!(wide, None, "{}", command.get_name());
            }
            let help = command.render_long_help().to_string();
            let after = command.get_after_long_help().or(command.get_after_help());
            let after = after.map(ToString::to_string).unwrap_or_default();
            for whole in after.lines().filter(|line| line.starts_with("  punctual")) {
                assert!(help.lines().any(|line| line == whole), "{whole}");
            }
        }
    }

    #[test]
    fn a_name_that_is_listed_is_meant_if_it_is_like_the_one_that_is_refused() {
        for (message, meant) in [
            (
                "there is no `lunix`; there are linux, macos",
                "; did you mean `linux`?",
            ),
            (
                "the model `linux` has no `slak`; it has hz, slack",
                "; did you mean `slack`?",
            ),
            (
                "`tass,3` is no lock; there are mcs, tas",
                "; did you mean `tas`?",
            ),
            ("there is no `qwertz`; there are linux, macos", ""),
            ("`tas` is named twice: mcs, tas", ""),
            ("there is no CPU 99 for this process; it may use 0, 1", ""),
            ("nothing, at all", ""),
        ] {
            assert_eq!(with_guess(message.to_owned()), [message, meant].concat());
        }
    }

    #[test]
    fn an_argument_that_is_missing_is_explained() {
        for (command, words) in [
            (
                "simulate",
                "error: punctual simulate needs <NAME|FILE>: The name of a scenario",
            ),
            ("import", "error: punctual import needs <FILE>...: "),
            ("emulate", "error: punctual emulate needs <MODEL>: "),
        ] {
            let error = definition()
                .try_get_matches_from(["punctual", command])
                .unwrap_err();
            let line = one_line(&error);
            assert!(line.starts_with(words), "{line}");
            assert!(
                line.ends_with(&format!("`punctual {command} --help` has examples")),
                "{line}"
            );
        }
    }

    #[test]
    fn a_message_is_one_line() {
        let error = Cli::try_parse_from(["punctual", "bench", "--rate", "0"]).unwrap_err();
        let line = one_line(&error);
        assert!(
            line.contains("`0` is not a rate") && !line.contains("For more"),
            "{line}"
        );
    }
}
