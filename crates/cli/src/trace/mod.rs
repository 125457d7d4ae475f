//! `punctual trace`.

mod attempt;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod follow;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod library;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod program;
mod replay;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod rounds;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod source;
mod viewer;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_record::{Experiment, Run, TraceFacts};
use punctual_sim::Model;
use punctual_trace::{Engine, Event, text};

use attempt::Attempt;
use replay::Replay;
use viewer::ForViewer;

use crate::options::Output;
use crate::session::{self, Outputs};
use crate::values::{length, model};
use crate::{Done, files, finish};

/// Runs the command. The exit code of a program that it starts is its own.
pub(crate) fn run(args: &TraceArgs) -> ExitCode {
    if args.from.is_some() {
        return finish(of_file(args));
    }
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    return follow::run(args);
    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    return finish(Err(anyhow!(
        "tracing needs 64-bit Linux; `--from FILE` reads events from there"
    )));
}

/// A source of events of this computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Tracepoints of the kernel.
    Perf,
    /// A library that the program loads.
    Library,
}

/// Why nothing was traced, with the exit code that it has where a program was to be started.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
type Failure = (u8, anyhow::Error);

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn refused(why: impl Into<anyhow::Error>) -> Failure {
    (crate::exec::REFUSED, why.into())
}

/// The command that shows more than a source does.
fn more(source: &str) -> Option<String> {
    let more = match source {
        "library" => {
            "`sudo punctual trace -- COMMAND` does. Without root, this grants it: sudo setcap \
             cap_perfmon,cap_dac_read_search=ep \"$(command -v punctual)\""
        }
        _ => return None,
    };
    Some(more.to_owned())
}

/// Reads events of another time.
fn of_file(args: &TraceArgs) -> Result<Done> {
    let file = args.from.as_ref().ok_or_else(|| anyhow!("no file"))?;
    if args.events.is_some() || args.length.is_some() {
        bail!("--events and --for have no meaning with --from: leave them out");
    }
    let outputs = Outputs::new(&args.output)?;
    let bytes = files::bytes(file, files::LONGEST)?;
    let events = punctual_import::text(&bytes);
    let name = files::name(file);
    let replay = replay_of(args)?;
    let new = |tick_ns| match replay {
        Some(_) => Engine::new(tick_ns).recording(),
        None => Engine::new(tick_ns),
    };
    let mut viewer = args.trace.as_deref().map(ForViewer::create).transpose()?;
    let mut take = |engine: &mut Engine, event: &Event| {
        engine.feed(event);
        if let Some(viewer) = &mut viewer {
            viewer.take(event, engine);
        }
    };
    let read = match events.starts_with(text::HEAD) {
        true => text::read_with(&events, new, take).map(|engine| {
            let by_library = engine.has_bounds();
            let facts = TraceFacts {
                source: "file".to_owned(),
                more: more(if by_library { "library" } else { "perf" }),
                ..facts(&engine)
            };
            (engine, facts)
        }),
        false => punctual_import::events(&events).map(|events| {
            let mut engine = new(events.tick_ns);
            for event in &events.events {
                take(&mut engine, event);
            }
            engine.close();
            let facts = of_events(events, &engine);
            (engine, facts)
        }),
    };
    let (mut engine, facts) = read.map_err(|why| anyhow!("{name}: {why}"))?;
    let mut run = run_of(&engine, facts);
    run.machine.name = "recorded events".to_owned();
    // The answer is delivered, whatever else cannot be written.
    let finished = viewer.map(|viewer| viewer.finish(&mut engine));
    let finished = finished
        .transpose()
        .map(|cut| run.warnings.extend(cut.flatten()));
    let replayed = replay.map(|replay| replay.finish(&engine, &mut run, false, &Stop::new()));
    let done = outputs.answer(&run)?;
    finished?;
    replayed.transpose()?;
    Ok(done)
}

/// The scenario that is asked for.
fn replay_of(args: &TraceArgs) -> Result<Option<Replay<'_>>> {
    let replay = args
        .scenario
        .as_deref()
        .map(|file| Replay::new(file, &args.on));
    replay.transpose()
}

/// The facts of a file of another tracer.
fn of_events(events: punctual_import::Events, engine: &Engine) -> TraceFacts {
    TraceFacts {
        source: events.format.to_owned(),
        unseen: events.untold,
        more: events.more,
        wake_ups: Vec::new(),
        ..facts(engine)
    }
}

/// The facts that the engine knows.
fn facts(engine: &Engine) -> TraceFacts {
    TraceFacts {
        elapsed_ns: engine.elapsed_ns(),
        events: engine.events(),
        lost_events: engine.lost(),
        cpus_without_idle: engine.cpus_without_idle(),
        unseen: match engine.has_bounds() {
            true => UNSEEN_BY_LIBRARY.map(str::to_owned).to_vec(),
            false => UNSEEN.map(str::to_owned).to_vec(),
        },
        has_bounds: engine.has_bounds(),
        tick_ns: engine.tick_ns(),
        throttled_ns: engine.throttled_ns(),
        waits_not_noted: engine.not_noted(),
        wake_ups: engine.wake_ups(),
        ..TraceFacts::default()
    }
}

/// The facts that these events do not show.
const UNSEEN: [&str; 2] = [
    "Waits of 32-bit programs, of read(2) and of io_uring are not in it.",
    "Where the length is behind a pointer and the kernel counts it as an instant (ppoll, select, futex), lateness counts \
     from the arming of the timer: the time before, usually less than 1 us, is not seen.",
];

/// The facts that a library in the program does not show.
const UNSEEN_BY_LIBRARY: [&str; 4] = [
    "The library does not see timers and wake-ups: slack and ticks are at most what the kernel allows, and late interrupts, \
     slow wake-ups and the time that a CPU was idle are unknown.",
    "It does not see which thread had the CPU.",
    "A stop (SIGSTOP, Ctrl-Z) is looked for ten times a second: its first 0.1 s are unknown.",
    "Waits that call the kernel without libc are not in it, nor those of read(2), io_uring, timers of file descriptors, and of \
     programs that are linked statically or have rights of their own.",
];

/// A Run of these waits.
fn run_of(engine: &Engine, facts: TraceFacts) -> Run {
    let mut run: Run = Run {
        results: engine.rows(),
        ..session::run()
    };
    for row in &mut run.results {
        if let Experiment::Trace(of) = &mut row.experiment {
            of.cause = of.find_cause(&facts);
        }
    }
    run.beside.traced = Some(facts);
    run
}

/// The beginning of its help.
pub(crate) const ABOUT: &str = "\
Say how late the timed waits of other programs end, and why. Tracing needs 64-bit Linux; --from works on any system.

The kernel reports the requested length and the slack of each wait. It also reports when the timer expired, the thread woke \
up and got a CPU, and the call returned. The parts of a lateness sum to it; a part that the events do not show is unknown. \
Waits that an event ended are counted apart. Nothing is left on in the kernel afterwards, even after kill -9.

The events of the kernel need root, or CAP_PERFMON and a readable tracefs. Under sudo COMMAND runs as root too. This gives \
all users of punctual the permission:
  sudo setcap cap_perfmon,cap_dac_read_search=ep \"$(command -v punctual)\"

Without the permission, COMMAND loads a library that logs its waits. It knows the wait for a CPU and the slack of the thread. \
It does not see timers, wake-ups, or which thread had the CPU: these parts are unknown.";

/// And ends with.
pub(crate) const AFTER: &str = "\
Parts of a lateness:
  slack      how late the kernel may let the timer be, as far as it used that
  ticks      rounding of the timer wheel, which timeouts of sockets use
  interrupt  the timer's interrupt came late
  wake-up    from the timer until the thread was ready and its idle CPU ran it
  CPU        the thread was ready, and others had its CPU
  held       the thread was ready for long and its CPU idle, as under a quota
  stopped    a signal (SIGSTOP, Ctrl-Z) or a debugger stopped the thread
  blocked    the call waited for something else
  return     the thread ran until the call returned
  call       from the call until its timer was armed

COMMAND runs until it ends, or until --for is over: then it gets SIGTERM, and SIGKILL half a second later. Its output is its own; the \
answer comes on standard error. --pid and --all end with Ctrl-C, or --for.

--try runs COMMAND six times, each time to its end or for --for, with an empty input. slack=LENGTH starts it with that timer \
slack, and needs the permission above. Lateness is then by thread, call and length, as the kernel shows it. With accurate and \
emulate=MODEL the program loads a library, which changes its waits and needs no permission. The library measures the waits of \
all six runs, from call to return: sleeps, waits for events, and waits for other threads. Without the permission accurate has \
no prediction. Programs that cannot load the library are refused, as by exec --accurate. The exit code is the first of the six \
that is not 0.

--scenario writes each thread as work and waits, to a file that `simulate`, and --scenario of `measure` and `doctor`, read. It \
runs the file on a simulated Linux with the facts of this computer, the slack of most waits, and their usual wake-up. Other \
threads of the computer are not in it.

Exit codes: what COMMAND returns, 128 + N if signal N ended it, 0 if --for ended it; 2 COMMAND returned 0, and a result could \
not be written; 125 refused, or --try has nothing to compare; 126 cannot run it, 127 there is no such program. Without \
COMMAND: 0 done, 2 could not run.

Examples:
  sudo punctual trace -- ./render
  sudo punctual trace --for 20s --json run.json -- ./render --fast
  sudo punctual trace --pid 1234 --for 10s --full
  sudo punctual trace --all --for 10s
  sudo punctual trace --for 5s --events events.txt -- ./render
  sudo punctual trace --try slack=1ns --for 10s -- ./render
  sudo punctual trace --try emulate=windows-11 -- python3 send.py
  sudo punctual trace --scenario render.toml --on windows-11 --on macos --for 10s -- ./render
  punctual trace --by library -- ./render
  punctual trace --from events.txt --trace perfetto.json
  strace -f -ttt -T -o log ./render; punctual trace --from log";

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// How long to trace, such as 20s [default: until the program ends, or Ctrl-C]
    #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    length: Option<Nanos>,

    /// Trace the threads of a running process
    #[arg(long, value_name = "P", conflicts_with_all = ["all", "from", "command"])]
    pid: Option<u32>,

    /// Trace all threads of this computer
    #[arg(long, conflicts_with_all = ["from", "command"])]
    all: bool,

    /// The source of events: perf (tracepoints of the kernel), library (in the program; needs no privilege) [default: perf,
    /// and the library for COMMAND where perf is refused]
    #[arg(
        long,
        value_name = "SOURCE",
        hide_possible_values = true,
        conflicts_with = "from"
    )]
    by: Option<By>,

    /// Read recorded events: a file of --events, of strace -f -ttt -T, or of perf script (tracepoints)
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    from: Option<PathBuf>,

    /// Write the events to a file, as text
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,

    /// Write the waits for a trace viewer (ui.perfetto.dev): each call, how late it was, and the threads on each CPU
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Run the program with a change and without it, three times each in turns, and compare: slack=LENGTH, accurate (exec
    /// --accurate), emulate=MODEL
    #[arg(long = "try", value_name = "CHANGE", requires = "command", conflicts_with_all = ["pid", "all", "from", "by", "events", "trace", "scenario"])]
    attempt: Option<Attempt>,

    /// Write the waits to a file as a scenario, and compare them with a simulated Linux
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    /// With --scenario: simulate this system too, such as windows-11 or macos; can be repeated
    #[arg(long, value_name = "MODEL", requires = "scenario", value_parser = model)]
    on: Vec<Model>,

    #[command(flatten)]
    output: Output,

    /// The program to start, and its arguments
    #[arg(
        value_name = "COMMAND",
        required_unless_present_any = ["pid", "all", "from"],
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
}
