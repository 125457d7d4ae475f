//! What `punctual slack` takes.

use clap::{Args, Subcommand};
use punctual_core::Nanos;

use crate::values::length;

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Show and change timer slack: how much later than asked Linux may wake a thread. Linux only.

Slack belongs to threads. A thread gives its own to every thread and process that it starts, 50 us unless somebody changed \
it. It counts for sleeps, poll, select and futexes; not for timerfd, and not for real-time threads.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
The threads of another process can be read and changed as root, or with CAP_SYS_NICE.

Without --pid, `hold` and `cycle` change the main thread of punctual itself, which no other program notices: they are there \
to be looked at. To start a program with a slack of its own, use `punctual exec --slack 1ns -- COMMAND`.

However `hold` and `cycle` end, by themselves, by Ctrl-C or by SIGTERM, each thread gets back what it had; one that was \
started meanwhile gets what the first thread of its process had. Only SIGKILL leaves what is in force.

Exit codes: 0 done, 2 could not run, 3 ended by the user before its end.

Examples:
  punctual slack show --pid 4711
  punctual slack hold 1ns --pid 4711
  punctual slack hold 2ms --pid 4711 --for 10s
  punctual slack cycle --pid 4711 --each 10s";

#[derive(Debug, Args)]
pub(crate) struct SlackArgs {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the timer slack of every thread of a process (at once)
    Show {
        #[command(flatten)]
        target: Target,
    },
    /// Hold a timer slack for every thread of a process, until Ctrl-C or for so long; then bring back what was
    Hold {
        /// The slack: 1ns, 50us, 2ms
        #[arg(value_name = "LENGTH", allow_hyphen_values = true)]
        slack: Nanos,

        #[command(flatten)]
        target: Target,

        /// End by itself after so long: 500ms, 10s
        #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
        length: Option<Nanos>,
    },
    /// Hold 1 ns, 50 us, 500 us, 1, 2, 4 and 8 ms in turn (seven times --each: 28 s), then bring back what was
    ///
    /// Whoever measures that process meanwhile sees each step in how late its sleeps end.
    Cycle {
        #[command(flatten)]
        target: Target,

        /// How long each is held
        #[arg(
            long,
            value_name = "LENGTH",
            default_value = "4s",
            allow_hyphen_values = true,
            value_parser = length
        )]
        each: Nanos,
    },
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Target {
    /// The number of the process [default: punctual itself]
    #[arg(long, value_name = "P", allow_hyphen_values = true, value_parser = pid)]
    pub(crate) pid: Option<u32>,
}

fn pid(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or_else(|| "give the number of a process, as `ps` shows it".to_owned())
}
