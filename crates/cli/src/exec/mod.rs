//! `punctual exec`.

pub(crate) mod args;

use std::convert::Infallible;
use std::process::Command;

use anyhow::{Result, anyhow, bail};
use punctual_core::Nanos;
use punctual_os::{priority, program, slack};

use args::ExecArgs;

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
        priority::set(wanted).map_err(|error| anyhow!("{error}"))?;
    }
    let Some((name, rest)) = args.command.split_first() else {
        bail!("no program to run: write it after `--`");
    };
    let mut command = Command::new(name);
    Err(anyhow!("{}", program::replace(command.args(rest))))
}

fn set_slack(wanted: Nanos) -> Result<()> {
    let granted = slack::set(wanted).map_err(|error| anyhow!("{error}"))?;
    if granted != wanted {
        bail!(
            "timer slack of {wanted} was not granted, but {granted}: a real-time thread has none, \
             so start this with an ordinary policy, `chrt --other 0 punctual exec ...`"
        );
    }
    Ok(())
}
