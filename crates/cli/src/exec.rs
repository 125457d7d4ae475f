//! `punctual exec`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::process::Command;

use anyhow::{Error, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use punctual_core::{Nanos, StrategySpec};
use punctual_os::{program, slack};
use punctual_program::setting::Priority;

use crate::values;

/// The exit codes of commands that start a program, where the program returned none: as `timeout` and `nice` have them.
/// It was not started, because it or an argument was refused.
pub(crate) const REFUSED: u8 = 125;
/// The program cannot be run.
#[cfg(unix)]
pub(crate) const CANNOT_RUN: u8 = 126;
/// There is no such program.
#[cfg(unix)]
pub(crate) const NOT_FOUND: u8 = 127;

/// The exit code for what a program returned.
#[cfg(unix)]
pub(crate) fn code(status: std::process::ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).map_or(REFUSED, |code| code as u8)
}

/// Runs the command; comes back only when that failed.
pub(crate) fn run(args: &ExecArgs) -> Result<Infallible> {
    if args.slack.is_none() && args.priority.is_none() {
        bail!("nothing to give to the program: add --slack LENGTH, --priority P, or --accurate");
    }
    on_its_thread(args, || replace(args))
}

/// Calls `start` on a thread with the slack and the priority, which programs have that it starts.
pub(crate) fn on_its_thread<T: Send>(
    args: &ExecArgs,
    start: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    // Slack first: a real-time thread ignores it.
    let _slack = args.slack.map(hold_slack).transpose()?;
    // A new thread has the slack also as its default, to which Linux goes back
    // when a thread was real-time for a while (prctl(2), PR_SET_TIMERSLACK).
    let started = std::thread::scope(|scope| {
        // A priority is set here because not every system passes it on to new threads.
        let with_priority = || {
            if let Some(wanted) = args.priority {
                punctual_os::priority::set(wanted).map_err(Error::msg)?;
            }
            start()
        };
        scope.spawn(with_priority).join()
    });
    started.unwrap_or_else(|_| bail!("the thread that was to start the program failed"))
}

/// Gives the place of the calling thread to the program.
fn replace(args: &ExecArgs) -> Result<Infallible> {
    let Some((name, rest)) = args.command.split_first() else {
        bail!("no program to run: write it after `--`");
    };
    let mut command = Command::new(name);
    Err(anyhow!("{}", program::replace(command.args(rest))))
}

/// Holds a timer slack for the calling thread, which the programs and threads inherit that it starts meanwhile.
pub(crate) fn hold_slack(wanted: Nanos) -> Result<slack::Guard> {
    let held = slack::hold(wanted).map_err(Error::msg)?;
    let granted = held.granted();
    if granted != wanted {
        bail!(
            "timer slack of {wanted} was not granted, but {granted}: a real-time thread has none, \
             so start this with an ordinary policy, `chrt --other 0 punctual ...`"
        );
    }
    Ok(held)
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Start a program with a timer slack or a priority of its own, or with waits that end on time. Linux; --priority alone also on \
macOS.

Slack and, on Linux, priority go to every thread and process that the program starts, unless they change theirs. Without \
--accurate the program takes the place of punctual: same process, same files, its own exit code.

With --accurate (Linux with glibc) sleeps and timeouts end when they were asked to end, never early. That holds for all \
threads of the program, and for the programs that it starts. The program is not changed: a library that is loaded with it \
waits as punctual's own `adaptive` does. Output, signals and exit code pass through. At the end standard error shows how late \
waits were, and how late they are without --accurate. For that, one in eight of the first waits stays as it is, until there \
are 200 of each kind (sleeps, waits for events, waits for other threads).";

/// The end of its help.
pub(crate) const AFTER: &str = "\
Priorities on Linux: background is nice 19, utility nice 10, normal nice 0, interactive nice -10, real-time SCHED_FIFO \
with priority 1. The last two take root, or `ulimit -e` and `ulimit -r`.

With --accurate waits block for a little less and spin for the rest. A wait for an event or for another thread looks for it \
while it spins. When the share of --spin is used up, no wait spins. Programs of Go are refused, and programs that are linked \
statically, 32-bit, set-uid, linked with musl, or built with AddressSanitizer.

A timer interval of Windows cannot be given to another program: since Windows 10 2004 each has to ask for itself.

Exit codes: what the program returns. If it did not start: 2; with --accurate 125 refused, 126 cannot run it, 127 there is no \
such program.

Examples:
  punctual exec --slack 1ns -- ./game
  punctual exec --slack 1ns --priority real-time -- ./audio --rate 48000
  punctual exec --slack 1ns -- cat /proc/self/timerslack_ns
  punctual exec --accurate -- ./emulator game.rom
  punctual exec --accurate --only sleep --spin 2% -- python3 send.py";

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// The timer slack: 1ns, 50us, 2ms
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) slack: Option<Nanos>,

    /// The priority: background, utility, normal, interactive, real-time
    #[arg(long, value_name = "P", value_parser = priority)]
    pub(crate) priority: Option<Priority>,

    /// Have sleeps and timeouts end when they were asked to end
    #[arg(long)]
    pub(crate) accurate: bool,

    /// With --accurate: the share of a CPU that each process may spin [default: 5%]
    #[arg(long, value_name = "SHARE", requires = "accurate", value_parser = share)]
    pub(crate) spin: Option<Share>,

    /// With --accurate: how much CPU time a wait may spend to be 1 us less late, 0.01 to 10000 us [default: 100]
    #[arg(long, value_name = "W", requires = "accurate", value_parser = weight)]
    pub(crate) weight: Option<f64>,

    /// With --accurate: change only these waits, and leave other timeouts as they are
    #[arg(long, value_name = "CALLS", requires = "accurate", value_enum)]
    pub(crate) only: Option<Only>,

    /// With --accurate: no summary, and no wait stays as it is to compare with
    #[arg(short, long, requires = "accurate")]
    pub(crate) quiet: bool,

    /// The program, and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) command: Vec<OsString>,
}

/// The calls whose waits end on time.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Only {
    /// nanosleep, clock_nanosleep, usleep, sleep, thrd_sleep, and select without descriptors
    Sleep,
}

/// A share, from 0 to 1.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "only the library uses it"))]
pub(crate) struct Share(pub(crate) f64);

fn share(text: &str) -> Result<Share, String> {
    let percent = text.strip_suffix('%').unwrap_or("");
    let instead = "give a share of a CPU from 0% to 100%, such as 5%";
    values::number(percent, 0.0..=100.0, instead).map(|percent: f64| Share(percent / 100.0))
}

fn weight(text: &str) -> Result<f64, String> {
    let instead = "a weight is a number from 0.01 to 10000";
    values::number(text, StrategySpec::WEIGHTS, instead)
}

pub(crate) fn priority(text: &str) -> Result<Priority, String> {
    let named = |priority: &Priority| priority.name() == text;
    Priority::ALL.into_iter().find(named).ok_or_else(|| {
        let names = Priority::ALL.map(Priority::name).join(", ");
        format!("there is no priority `{text}`; there are {names}")
    })
}
