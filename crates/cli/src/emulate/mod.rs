//! `punctual emulate`, and `punctual exec --accurate`, which starts programs with the same library.

#[cfg(unix)]
mod accurate;
#[cfg(unix)]
mod books;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod repeat;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod stage;
#[cfg(unix)]
mod summary;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) mod tried;

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) use stage::Stage;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use punctual_core::Nanos;
use punctual_preload::runtime::TakenFor;
use punctual_program::setting::Priority;

use crate::exec::{ExecArgs, priority};
use crate::{say, values};

// The library, if it was built.
#[cfg(unix)]
include!(concat!(env!("OUT_DIR"), "/carried.rs"));

/// How the waits of a program are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// A library that the program loads, in the place of waits of libc.
    Preload,
    /// A supervisor that traces the program and its children.
    Ptrace,
}

#[cfg(unix)]
impl By {
    /// It in a Run.
    const fn name(self) -> &'static str {
        match self {
            Self::Preload => "preload",
            Self::Ptrace => "ptrace",
        }
    }
}

/// Why the program was not started: the exit code, as `timeout` and `nice` have it, and a sentence.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) why: String,
}

impl Failure {
    fn new(code: u8, why: impl Into<String>) -> Self {
        Self {
            code,
            why: why.into(),
        }
    }
}

/// Runs the program; the exit code is its own.
pub(crate) fn run(args: &EmulateArgs) -> ExitCode {
    #[cfg(unix)]
    return ended(run::run(args));
    #[cfg(not(unix))]
    return not_here("emulate", args);
}

/// Runs the program with waits that end on time; the exit code is its own.
pub(crate) fn accurate(args: &ExecArgs) -> ExitCode {
    #[cfg(unix)]
    return ended(accurate::run(args));
    #[cfg(not(unix))]
    return not_here("exec --accurate", args);
}

fn ended(done: Result<u8, Failure>) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(Failure { code, why }) => {
            say!("error: {}", crate::args::with_guess(why));
            ExitCode::from(code)
        }
    }
}

/// Refuses: the library is for Linux.
#[cfg(not(unix))]
fn not_here<T>(command: &str, _args: &T) -> ExitCode {
    let why = format!("`{command}` needs Linux with glibc");
    ended(Err(Failure::new(crate::exec::REFUSED, why)))
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Start a program whose timed waits end when those of another system would. Linux.

Sleeps and timeouts end when the timer rule of MODEL ends them, on the real clock. That holds for all threads of the program, \
and for the programs that it starts. A wait that an event ends, ends then. The program is not changed, and its output, \
signals and exit code pass through. At the end standard error shows the lengths that its waits asked for and what they took.";

/// The end of its help.
pub(crate) const AFTER: &str = "\
The rule is that of `punctual simulate`, with the same parameters. The program is taken for a port that calls Sleep for \
sleeps, SleepConditionVariable for condition variables, and WaitForMultipleObjects for poll, select and epoll. CPython 3.9 to \
3.14, Node 18, 20, 22 and 24, OpenJDK 11, 17, 21 and 25, Rust 1.63 to 1.96, and Go 1.19 to 1.26 are known: their waits end as \
those of their ports to that system. Up to CPython 3.12 time.time and time.monotonic move in steps where they do on Windows. \
Other runtimes whose ports call something else are refused, unless `--as` says otherwise.

A program that is linked with glibc loads a library in the place of its waits. One that is linked statically or with musl, \
and one of Go, is traced instead, with the programs that it starts (`--by ptrace`; x86-64). The return of a wait is then \
not seen: the summary has `?` for the time that it took. The command waits for all processes of such a program, and set-uid \
programs have no rights of their own in it.

Not emulated: scheduling and the other clocks of that system. Timers of several threads end one by one, also where that \
system may end them together. Periodic timers of file descriptors keep their lengths; in a traced program all of them do. \
With the library, waits that call the kernel without libc keep their lengths too, and so do waits of children that execle \
starts with an environment of their own.

With `--repeat` the input is empty, and the first run of each side that fails shows its output. A run fails with an exit code \
other than 0 or by a signal. `timeout 60 COMMAND` also fails runs that hang.

Exit codes: 125 refused, 126 cannot run it, 127 there is no such program; else what the program returns. With `--repeat`: \
0 no run failed, 1 runs failed under the model and none natively, 3 runs failed natively too, or Ctrl-C or SIGTERM ended it \
early.

Examples:
  punctual emulate windows-11 -- python3 -m pytest tests/
  punctual emulate windows-11 -- cargo test
  punctual emulate windows-11 --as python-3.10 -v -- python3 server.py
  punctual emulate windows-10-2004 --request 1ms -- ./game --frames 600
  punctual emulate linux,slack=1ns --log waits.tsv -- ./pacer
  punctual emulate windows-11 -- ./server-in-go
  punctual emulate windows-11 --repeat 20 -- python3 -m pytest tests/";

/// A number of turns.
fn repetitions(text: &str) -> Result<u32, String> {
    values::number(text, 1..=1_000_000, "give a whole number from 1 to 1000000")
}

#[derive(Debug, Default, Args)]
pub(crate) struct EmulateArgs {
    /// The system, with parameters: windows-11, macos, linux,slack=1ms; `punctual simulate --list` shows all
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// The timer interval that each process requests (Windows): 1ms, 500us [default: none]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(crate) request: Option<Nanos>,

    /// All processes are hidden and silent: Windows 11 ignores their requests, macOS delays their timers
    #[arg(long)]
    pub(crate) hidden: bool,

    /// The computer runs on its battery; in the models of today no wait depends on that
    #[arg(long)]
    pub(crate) battery: bool,

    /// The priority of all threads (macOS, Linux): background, utility, normal, interactive, real-time
    #[arg(long, value_name = "P", value_parser = priority)]
    pub(crate) priority: Option<Priority>,

    /// The seed of the phase of clock interrupts and of random numbers [default: another each time]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::seed)]
    pub(crate) seed: Option<u64>,

    /// Treat programs of runtimes as plain (a C program), python-3.9 to python-3.14, rust-1.63 to rust-1.96, go-1.19 to
    /// go-1.26; or node-18, node-20, node-22, node-24, java-11, java-17, java-21, java-25
    #[arg(long = "as", value_name = "WHAT")]
    pub(crate) taken_for: Option<TakenFor>,

    /// How the waits of the program are reached: preload (a library in the place of libc), ptrace (a supervisor; x86-64) [default:
    /// preload, and ptrace for programs that load no library or call the kernel themselves]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub(crate) by: Option<By>,

    /// Let clocks of CPython move in steps where they do on that system (the default)
    #[arg(long, overrides_with = "no_clocks")]
    pub(crate) clocks: bool,

    /// Leave the clocks of CPython as they are
    #[arg(long, overrides_with = "clocks")]
    pub(crate) no_clocks: bool,

    /// Run the program N times under the model and N times without it, in turns, and compare how often it fails
    #[arg(long, value_name = "N", conflicts_with = "log", value_parser = repetitions)]
    pub(crate) repeat: Option<u32>,

    /// Write each wait into this file, tab-separated
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Write the result to a file, as JSON: the waits, the model, the seed, and how the program ended
    #[arg(short, long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// No summary
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Show in the summary by which calls the runtime of the program waits on that system
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// The program, and its arguments
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) command: Vec<OsString>,
}
