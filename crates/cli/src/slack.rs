//! `punctual slack`.

use std::collections::BTreeMap;

use anyhow::{Error, Result, anyhow};
use clap::{Args, Subcommand};
use punctual_core::Nanos;
use punctual_os::slack;
use punctual_os::slack::ThreadSlack;
use punctual_report::Verdict;

use crate::options::on_a_screen;
use crate::stop::{Each, End, HowLong, until};
use crate::values::number;
use crate::{Done, print, session};

/// The values of `cycle` in turn: the least, the usual, and ever larger ones that make sleeps of a
/// millisecond late.
const STEPS: [Nanos; 7] = [
    Nanos::new(1),
    Nanos::from_us(50),
    Nanos::from_us(500),
    Nanos::from_ms(1),
    Nanos::from_ms(2),
    Nanos::from_ms(4),
    Nanos::from_ms(8),
];

/// Runs the command.
pub(crate) fn run(args: &SlackArgs) -> Result<Done> {
    refuse_elsewhere()?;
    match &args.action {
        Action::Show { target } => show(target.pid),
        Action::Hold {
            slack,
            target,
            how_long,
        } => hold(*slack, target.pid, how_long.length),
        Action::Cycle { target, each } => cycle(target.pid, each.each),
    }
}

fn show(pid: Option<u32>) -> Result<Done> {
    let slacks = match pid {
        Some(pid) => slack::of(pid).map_err(Error::msg)?,
        None => own(),
    };
    print(&on_a_screen(&answer(pid, &slacks)))?;
    Ok(Done::Whole)
}

fn hold(slack: Nanos, pid: Option<u32>, length: Option<Nanos>) -> Result<Done> {
    let end = End::listen()?;
    let held = Held::hold(pid, slack)?;
    print(&format!("{}, {}\n", held.in_words(slack)?, until(length)))?;
    let is_early = end.within(length) && length.is_some();
    held.restore()?;
    Ok(Done::unless(is_early))
}

fn cycle(pid: Option<u32>, each: Nanos) -> Result<Done> {
    let end = End::listen()?;
    let held = Held::hold(pid, STEPS[0])?;
    let total = each.times(STEPS.len() as u64);
    print(&format!(
        "{} steps of {each} each, {total} in all; Ctrl-C ends it\n",
        STEPS.len()
    ))?;
    let mut is_early = false;
    for slack in STEPS {
        held.set(slack)?;
        print(&format!("{}\n", held.in_words(slack)?))?;
        is_early = end.within(Some(each));
        if is_early {
            break;
        }
    }
    held.restore()?;
    Ok(Done::unless(is_early))
}

/// A slack that is in force until this is dropped.
enum Held {
    /// For the main thread of this process.
    Own(slack::Guard),
    /// For every thread of another.
    Of(u32, slack::ProcessGuard),
}

impl Held {
    fn hold(pid: Option<u32>, slack: Nanos) -> Result<Self> {
        let held = match pid {
            Some(pid) => slack::hold_of(pid, slack).map(|guard| Self::Of(pid, guard)),
            None => slack::hold(slack).map(Self::Own),
        };
        held.map_err(Error::msg)
    }

    fn set(&self, slack: Nanos) -> Result<()> {
        let done = match self {
            Self::Own(_) => slack::set(slack).map(drop),
            Self::Of(_, guard) => guard.set(slack).map(drop),
        };
        done.map_err(Error::msg)
    }

    /// The requested slack, and the number of threads for which it is in force.
    fn in_words(&self, asked: Nanos) -> Result<String> {
        let (pid, now) = match self {
            Self::Own(_) => (None, own()),
            Self::Of(pid, _) => (Some(*pid), slack::of(*pid).map_err(Error::msg)?),
        };
        let granted = now.iter().filter(|thread| thread.1 == asked).count();
        Ok(format!(
            "asked {asked}, granted for {granted} of {} of {}",
            threads(now.len()),
            name(pid)
        ))
    }

    fn restore(self) -> Result<()> {
        match self {
            Self::Own(guard) => drop(guard),
            Self::Of(pid, guard) => guard.restore().map_err(|error| {
                anyhow!("process {pid} does not have back what it had: {error}")
            })?,
        }
        Ok(())
    }
}

/// The main thread of this process, whose number is that of the process.
fn own() -> Vec<ThreadSlack> {
    let slack = slack::current();
    let of_main = slack.map(|slack| (std::process::id(), slack));
    of_main.into_iter().collect()
}

fn name(pid: Option<u32>) -> String {
    pid.map_or_else(
        || format!("punctual itself ({})", std::process::id()),
        |pid| format!("process {pid}"),
    )
}

fn threads(count: usize) -> String {
    match count {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    }
}

/// The kernel's default for a thread (`INIT_TASK` in init/init_task.c).
const USUAL: Nanos = Nanos::from_us(50);

/// How late that lets sleeps be, and a row for each slack that a thread has.
fn answer(pid: Option<u32>, slacks: &[ThreadSlack]) -> Verdict {
    let mut by_slack: BTreeMap<Nanos, Vec<u32>> = BTreeMap::new();
    for &(thread, slack) in slacks {
        by_slack.entry(slack).or_default().push(thread);
    }
    let ends = by_slack.keys().next().zip(by_slack.keys().next_back());
    let late = ends.map(|(least, most)| match least == most {
        true => format!("up to {most}"),
        false => format!("up to {least} to {most}, by the thread,"),
    });
    let unusual = by_slack.keys().find(|slack| **slack != USUAL);
    let mut sentences = vec![format!(
        "Sleeps of {} may end {} later than asked: that is the timer slack of its {}.",
        name(pid),
        late.unwrap_or_else(|| "by what is not known".to_owned()),
        threads(slacks.len())
    )];
    sentences.push(match unusual {
        None => format!("{USUAL} is the default of Linux."),
        Some(_) => format!("The default of Linux is {USUAL}, so it was changed."),
    });
    let row = |(slack, of): (&Nanos, &Vec<u32>)| {
        let which = match of[..] {
            [thread] => format!(", number {thread}"),
            _ => String::new(),
        };
        vec![slack.to_string(), threads(of.len()) + &which]
    };
    let next = match (pid, by_slack.keys().any(|slack| *slack > Nanos::new(1))) {
        (Some(pid), true) => format!("punctual slack hold 1ns --pid {pid} lowers it for now"),
        (None, true) => {
            "punctual exec --slack 1ns -- punctual doctor --quick starts doctor without, as any program".to_owned()
        }
        (_, false) => "punctual measure sleep says how late sleeps are then".to_owned(),
    };
    let next = format!("Next: {next}; punctual doctor says what else makes sleeps late.");
    Verdict {
        heading: session::command_line(),
        ..Verdict::new(sentences, next)
    }
    .table(
        ["timer slack", "of"],
        by_slack.iter().map(row),
        "Threads under a real-time policy have none, whatever stands here; timerfd has none either.",
    )
}

fn refuse_elsewhere() -> Result<()> {
    if slack::current().is_some() {
        return Ok(());
    }
    let instead = match std::env::consts::OS {
        "windows" => "Windows has a timer interval, see `punctual resolution`",
        "macos" => {
            "macOS coalesces timers by the quality of service of the thread, see `punctual measure sleep`"
        }
        _ => "this system tells of nothing like it, see `punctual measure sleep`",
    };
    Err(anyhow!("timer slack is a Linux setting: {instead}"))
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Show and change timer slack: how much later than asked Linux may wake a thread. Linux only.

Each thread has its own slack, 50 us unless it was changed, and gives it to every thread and process that it starts. Slack \
counts for sleeps, poll, select and futexes; not for timerfd, and not for real-time threads.";

/// The end of its help.
pub(crate) const AFTER: &str = "\
The threads of another process can be read and changed as root, or with CAP_SYS_NICE.

Without --pid, `hold` and `cycle` change only the main thread of punctual itself, as a demonstration. To start a program with \
a slack of its own, use `punctual exec --slack 1ns -- COMMAND`.

At the end of `hold` and `cycle`, also by Ctrl-C or SIGTERM, each thread gets its slack back. A thread that was started \
meanwhile gets the slack that the first thread of its process had. Only SIGKILL leaves the changed slack in force.

Exit codes: 0 done (without --for, Ctrl-C is the end of `hold`), 2 could not run, 3 ended by Ctrl-C before its end.

Examples:
  punctual slack show --pid 4711
  punctual slack hold 1ns --pid 4711
  punctual slack hold 2ms --pid 4711 --for 10s
  punctual slack cycle --pid 4711 --each 10s";

/// The end of the help of what is below it.
const MORE: &str = "`punctual slack --help` has the exit codes and examples.";

#[derive(Debug, Args)]
pub(crate) struct SlackArgs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the timer slack of every thread of a process
    #[command(after_help = MORE)]
    Show {
        #[command(flatten)]
        target: Target,
    },
    /// Hold a timer slack for every thread of a process, until Ctrl-C or the end of --for; then restore it
    #[command(after_help = MORE)]
    Hold {
        /// The slack: 1ns, 50us, 2ms
        #[arg(value_name = "LENGTH", allow_hyphen_values = true)]
        slack: Nanos,

        #[command(flatten)]
        target: Target,

        #[command(flatten)]
        how_long: HowLong,
    },
    /// Hold 1 ns, 50 us, 500 us, 1, 2, 4 and 8 ms in turn (seven times --each: 28 s), then restore the slack
    ///
    /// If the process is a `punctual measure timers --rounds 30`, it shows each step in its sleeps.
    #[command(after_help = MORE)]
    Cycle {
        #[command(flatten)]
        target: Target,

        #[command(flatten)]
        each: Each,
    },
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Target {
    /// The number of the process [default: the main thread of punctual itself]
    #[arg(long, value_name = "P", allow_hyphen_values = true, value_parser = pid)]
    pub(crate) pid: Option<u32>,
}

fn pid(text: &str) -> Result<u32, String> {
    number(text, 1.., "give the number of a process, as `ps` shows it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_listed_by_their_slack() {
        let us = Nanos::from_us;
        let slacks = [(7, us(50)), (8, Nanos::new(1)), (9, us(50))];
        let changed = answer(Some(7), &slacks);
        assert_eq!(
            changed.sentences,
            [
                "Sleeps of process 7 may end up to 1 ns to 50 us, by the thread, later than asked: that is the timer slack of \
                 its 3 threads.",
                "The default of Linux is 50 us, so it was changed.",
            ]
        );
        let rows = changed.overview.unwrap().rows;
        assert_eq!(
            rows,
            [["1 ns", "1 thread, number 8"], ["50 us", "2 threads"]]
        );
        assert!(changed.next.contains("hold 1ns --pid 7"));
        let usual = answer(None, &slacks[..1]);
        assert!(usual.sentences[0].contains("may end up to 50 us later than asked"));
        assert!(usual.sentences[1].starts_with("50 us is the default of Linux"));
    }
}
