//! `punctual exec`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::process::Command;

use anyhow::{Error, Result, anyhow, bail};
use clap::Args;
use punctual_core::Nanos;
use punctual_os::{program, slack};
use punctual_program::setting::Priority;

/// Runs the command; comes back only when that failed.
pub(crate) fn run(args: &ExecArgs) -> Result<Infallible> {
    if args.slack.is_none() && args.priority.is_none() {
        bail!("nothing to give to the program: add --slack LENGTH, --priority P, or both");
    }
    // Slack first: a real-time thread ignores it.
    if let Some(wanted) = args.slack {
        set_slack(wanted)?;
    }
    // A new thread has the slack also as its default, to which Linux goes back
    // when a thread was real-time for a while (prctl(2), PR_SET_TIMERSLACK).
    let replaced = std::thread::scope(|scope| scope.spawn(|| replace(args)).join());
    replaced.unwrap_or_else(|_| bail!("the thread that was to start the program failed"))
}

/// Gives the calling thread the priority, and its place to the program. A
/// priority is set here because not every system passes it on to new threads.
fn replace(args: &ExecArgs) -> Result<Infallible> {
    if let Some(wanted) = args.priority {
        punctual_os::priority::set(wanted).map_err(Error::msg)?;
    }
    let Some((name, rest)) = args.command.split_first() else {
        bail!("no program to run: write it after `--`");
    };
    let mut command = Command::new(name);
    Err(anyhow!("{}", program::replace(command.args(rest))))
}

fn set_slack(wanted: Nanos) -> Result<()> {
    let granted = slack::set(wanted).map_err(Error::msg)?;
    if granted != wanted {
        bail!(
            "timer slack of {wanted} was not granted, but {granted}: a real-time thread has none, \
             so start this with an ordinary policy, `chrt --other 0 punctual exec ...`"
        );
    }
    Ok(())
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Start a program with a timer slack or a priority of its own. Linux; --priority alone also on macOS.

The program takes the place of punctual: same process, same files, its own exit code. Slack and, on Linux, priority go to \
every thread and process that it starts, unless they change theirs. Takes no time.";

/// The end of its help.
pub(crate) const AFTER: &str = "\
Priorities on Linux: background is nice 19, utility nice 10, normal nice 0, interactive nice -10, real-time SCHED_FIFO \
with priority 1. The last two take root, or `ulimit -e` and `ulimit -r`.

A timer interval of Windows cannot be given to another program: since Windows 10 2004 each has to ask for itself.

Exit codes: 2 could not run it; else what the program returns.

Examples:
  punctual exec --slack 1ns -- ./game
  punctual exec --slack 1ns --priority real-time -- ./audio --rate 48000
  punctual exec --slack 1ns -- cat /proc/self/timerslack_ns";

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The timer slack: 1ns, 50us, 2ms
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) slack: Option<Nanos>,

    /// The priority: background, utility, normal, interactive, real-time
    #[arg(long, value_name = "P", value_parser = priority)]
    pub(crate) priority: Option<Priority>,

    /// The program, and what it takes
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) command: Vec<OsString>,
}

pub(crate) fn priority(text: &str) -> Result<Priority, String> {
    let named = |priority: &Priority| priority.name() == text;
    Priority::ALL.into_iter().find(named).ok_or_else(|| {
        let names = Priority::ALL.map(Priority::name).join(", ");
        format!("there is no priority `{text}`; there are {names}")
    })
}
