//! `punctual identify`: which timer rule made the waits of a log.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use punctual_core::{Method, Nanos};
use punctual_lab::identify::{self, Waits};
use punctual_program::Program;
use punctual_program::program::Op;
use punctual_record::{
    Experiment, IdentityOutcome, Late, Logged, LoggedKind, Measurement, OfExperiment, Run,
};
use punctual_report::prose;

use crate::import::Known;
use crate::options::{Output, Place};
use crate::session::{self, Outputs};
use crate::{Done, files, stop};

/// The beginning of its help.
pub(crate) const ABOUT: &str = "\
Say which timer rule made the waits of a log. It can be the clock interrupt of Windows, the timer slack, ticks or timer \
wheel of Linux, or a latency tier of macOS. It can also be a CPU quota, a busy CPU, or none of these.

Reads a Run of measure, doctor, bench naps or import, or a log of another program (punctual import). The log needs a \
line for each wait, best with the requested and the actual length. A command after `--` is run, and its output is read as \
such a log. Without a log or command, 180 waits of 1, 3 and 10 ms are made here, in about a second. For this computer, \
punctual doctor says more.

The simulator runs the same waits under each rule, and fits the time of a wake-up. A rule is named only if it fits, if no \
other fits about as well, and if a constant delay would not explain the same.";

/// And ends with.
pub(crate) const AFTER: &str = "\
Exit codes: 0 a rule is named, or none fits; 2 could not run; 3 it cannot be told, or ended by Ctrl-C.

Examples:
  punctual identify waits.csv
  punctual identify trace.txt --subject poll
  punctual identify -- python3 waits.py
  punctual identify --on windows-10-2004";

#[derive(Debug, Args)]
pub(crate) struct IdentifyArgs {
    /// A Run or a log (- is standard input) [default: waits are made here]
    #[arg(value_name = "FILE", conflicts_with = "command")]
    file: Option<PathBuf>,

    /// The process or thread whose waits are read, where a file has several [default: the one with
    /// the most]
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,

    #[command(flatten)]
    known: Known,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    output: Output,

    /// A program that prints a log, such as lines of asked_us,got_us
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<OsString>,
}

/// Runs the command.
pub(crate) fn run(args: &IdentifyArgs) -> Result<Done> {
    let (name, mut run) = match (&args.file, args.command.split_first()) {
        (Some(file), _) => (files::name(file), of_file(args, file)?),
        (None, Some((program, arguments))) => {
            let printed = printed(program, arguments)?;
            let read = punctual_import::read(&printed, &args.known.hints());
            (
                "what the command printed".to_owned(),
                read.map_err(|why| anyhow!("what the command printed: {why}"))?,
            )
        }
        (None, None) => ("the measurement".to_owned(), measured(args)?),
    };
    let (row, waits) = chosen(&name, &run, args.subject.as_deref())?;
    let stop = stop::on_ctrl_c()?;
    let found = stop::unless_stopped_again(&stop, move || identify::identify(&waits))?;
    let Some(found) = found else {
        bail!("ended before a rule was found");
    };
    let done = match found.outcome {
        IdentityOutcome::CannotTell => Done::Inconclusive,
        _ => Done::Whole,
    };
    let row = run.results.swap_remove(row);
    run.results = vec![row];
    run.command = session::command_line();
    run.beside.identity = Some(found);
    let outputs = Outputs::new(&args.output)?;
    match outputs.answer(&run)? {
        Done::Whole => Ok(done),
        other => Ok(other),
    }
}

fn of_file(args: &IdentifyArgs, file: &Path) -> Result<Run> {
    let name = files::name(file);
    let text = files::run_with(file, &args.known.hints())?;
    Run::from_json(&text).map_err(|why| anyhow!("{name}: {why}"))
}

/// The measurement with the most waits that can be looked at, or that of the subject.
fn chosen(name: &str, run: &Run, subject: Option<&str>) -> Result<(usize, Waits)> {
    let all = run
        .results
        .iter()
        .enumerate()
        .filter_map(|(i, m)| Some((i, waits(m)?)));
    let all: Vec<(usize, Waits)> = all.collect();
    let named =
        |(i, _): &&(usize, Waits)| subject.is_none_or(|subject| run.results[*i].subject == subject);
    let most = all
        .iter()
        .filter(named)
        .max_by_key(|(i, waits)| (waits.got_ns.len(), std::cmp::Reverse(*i)));
    most.cloned().ok_or_else(|| {
        let subjects = all.iter().map(|(i, _)| run.results[*i].subject.as_str());
        let subjects: std::collections::BTreeSet<&str> = subjects.collect();
        match (subject, subjects.is_empty()) {
            (Some(subject), false) => anyhow!("{name} has no waits of `{subject}`; it has those of {}", prose::list(subjects)),
            _ => anyhow!(
                "{name} has no waits one by one with what they asked for and got, and no frame times; strace -f -ttt -T or a CSV of \
                 asked_us,got_us has them"
            ),
        }
    })
}

/// The waits of a measurement, as far as it has them one by one.
fn waits(m: &Measurement) -> Option<Waits> {
    let ended_ns = m.samples_woke_ns.clone();
    let (late, slept) = (&m.samples_late_ns, &m.samples_slept_ns);
    if let Some(log) = Logged::of(m)
        && [LoggedKind::Frames, LoggedKind::Lengths].contains(&log.of)
    {
        return (!slept.is_empty()).then(|| Waits {
            asked_ns: vec![],
            got_ns: slept.clone(),
            ended_ns,
        });
    }
    if late.is_empty() {
        return None;
    }
    let asked = |asked_ns: u64| {
        let got = late
            .iter()
            .map(|late| asked_ns.saturating_add_signed(*late));
        Waits {
            asked_ns: vec![asked_ns; late.len()],
            got_ns: got.collect(),
            ended_ns: ended_ns.clone(),
        }
    };
    match &m.experiment {
        _ if late.len() == slept.len() => Some(Waits {
            asked_ns: slept
                .iter()
                .zip(late)
                .map(|(slept, late)| slept.saturating_add_signed(late.saturating_neg()))
                .collect(),
            got_ns: slept.clone(),
            ended_ns,
        }),
        Experiment::Naps(of) => Some(asked(of.asked_ns)),
        Experiment::Sleep(of) => Some(asked(of.asked_ns)),
        Experiment::Gap(of) => Some(asked(of.asked_ns)),
        Experiment::Cores(of) => Some(asked(of.asked_ns)),
        Experiment::Load(of) => Some(asked(of.asked_ns)),
        Experiment::Doctor(of) => Some(asked(of.asked_ns)),
        _ => None,
    }
}

/// Nothing that a command prints is longer.
const LONGEST: u64 = 1 << 28;

/// Returns what a command prints. The command is ended with this process.
fn printed(program: &OsString, arguments: &[OsString]) -> Result<Vec<u8>> {
    let stop = stop::on_ctrl_c()?;
    let shown = program.to_string_lossy().into_owned();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {shown}; name a program"))?;
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.map(|output| output.take(LONGEST).read_to_end(&mut bytes));
        read.transpose().map(|_| bytes)
    });
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if stop.is_requested() {
            child.kill()?;
            child.wait()?;
            bail!("ended before {shown} was");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let bytes = reader
        .join()
        .map_err(|_| anyhow!("the reader of {shown} failed"))?;
    let bytes = bytes.with_context(|| format!("cannot read what {shown} printed"))?;
    match status.success() || !bytes.is_empty() {
        true => Ok(bytes),
        false => bail!("{shown} failed ({status}) and printed nothing"),
    }
}

/// The lengths of the waits that are made here, in ms, in turns, and how many turns.
const LENGTHS_MS: [u64; 3] = [1, 3, 10];
const TURNS: u64 = 60;

/// Waits on this computer, or on a model.
fn measured(args: &IdentifyArgs) -> Result<Run> {
    args.place.check()?;
    let on = session::machine(args.place.on.as_ref(), args.place.seed())?;
    let mut machine = on.machine;
    let naps = LENGTHS_MS.map(|ms| Op::nap(Method::Sleep, Nanos::from_ms(ms)));
    let mut ops: Vec<Op> = args.place.cpu.map(Op::Pin).into_iter().collect();
    ops.extend([
        Op::nap(Method::Sleep, Nanos::from_ms(1)),
        Op::Record,
        Op::repeat(TURNS, naps),
    ]);
    let mut seen = machine
        .run(&Program::from(ops))
        .map_err(|why| anyhow!("{why}"))?;
    let samples = seen
        .threads
        .first_mut()
        .and_then(|thread| thread.sections.pop())
        .unwrap_or_default()
        .samples;
    let late: Vec<i64> = samples
        .iter()
        .map(|sample| sample.outcome.late.as_ns())
        .collect();
    let row = Measurement {
        late_ns: Late::of(&late),
        samples_slept_ns: samples
            .iter()
            .zip(&late)
            .map(|(sample, late)| sample.asked.as_ns().saturating_add_signed(*late))
            .collect(),
        samples_woke_ns: samples.iter().map(|sample| sample.woke.as_ns()).collect(),
        samples_late_ns: late,
        ..Measurement::of(Experiment::Log(Box::default()), "sleep")
    };
    Ok(Run {
        started_at: args.place.is_here().then(session::now),
        machine: on.facts,
        results: vec![row],
        ..session::run()
    })
}
