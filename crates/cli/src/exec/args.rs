//! What `punctual exec` takes.

use std::ffi::OsString;

use clap::Args;
use punctual_core::Nanos;
use punctual_program::setting::Priority;

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Start a program with a timer slack or a priority of its own. Linux; --priority alone also on macOS.

The program takes the place of punctual: same process, same files, its own exit code. Slack and, on Linux, priority go to \
every thread and process that it starts, unless they change theirs. Takes no time.";

/// What its help ends with.
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

fn priority(text: &str) -> Result<Priority, String> {
    let named = |priority: &Priority| priority.name() == text;
    Priority::ALL.into_iter().find(named).ok_or_else(|| {
        let names = Priority::ALL.map(Priority::name).join(", ");
        format!("there is no priority `{text}`; there are {names}")
    })
}
