//! Traces programs of this computer.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write as _};
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context as _, Result, anyhow};
use punctual_core::Nanos;
use punctual_lab::host::Stop;
use punctual_os::cgroups::CpuGroups;
use punctual_os::perf::Scope;
use punctual_os::{Tick, clock};
use punctual_record::{Measurement, Run, TraceFacts, Warning};
use punctual_report::Report as _;
use punctual_trace::{Engine, Event, Slack, What, text};

use super::program::Program;
use super::source::Source;
use super::viewer::ForViewer;
use super::{Failure, TraceArgs, facts, more, refused, replay_of, rounds, run_of};
use crate::console::give_away_stdout;
use crate::exec::{CANNOT_RUN, NOT_FOUND, code};
use crate::options::Output;
use crate::session::Outputs;
use crate::{finish, print, session, stop};

/// How often events are read, in milliseconds, where no ring buffer is half full before. Each time wakes this process.
const READ_MS: u16 = 100;

pub(super) fn run(args: &TraceArgs) -> ExitCode {
    let has_program = !args.command.is_empty();
    if has_program {
        // Standard output is the program's.
        give_away_stdout();
    }
    let done = match &args.attempt {
        Some(attempt) => rounds::run(args, attempt),
        None => traced(args),
    };
    match done {
        Ok(code) => code,
        Err((code, why)) if has_program => {
            let _ = finish(Err(why));
            ExitCode::from(code)
        }
        Err((_, why)) => finish(Err(why)),
    }
}

fn traced(args: &TraceArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::new(&args.output).map_err(refused)?;
    let scope = scope(args).map_err(refused)?;
    // Reading them takes milliseconds, so not during the trace.
    let machine = session::host_facts();
    let stop = stop::on_ctrl_c().map_err(refused)?;
    if args.events.is_some() && args.events == args.trace {
        return Err(refused(anyhow!(
            "--events and --trace name the same file: give each its own"
        )));
    }
    let source = Source::open(args, scope)?;
    let mut trace =
        Trace::new(source, args.events.as_deref(), args.trace.as_deref()).map_err(refused)?;
    let replay = replay_of(args).map_err(refused)?;
    if replay.is_some() {
        trace.engine = trace.engine.recording();
    }
    let started_at = session::now();
    let mut program = match args.command.is_empty() {
        true => None,
        false => {
            let started = trace.source.start();
            Some(started.map_err(|why| not_started(args, &why))?)
        }
    };
    let End {
        is_over,
        by_itself,
        status,
    } = trace.whole(program.as_mut(), args.pid, args.length, &stop);
    stop.end();

    let (exit_code, signal) = status.map_or((None, None), |status| {
        use std::os::unix::process::ExitStatusExt as _;
        (status.code(), status.signal())
    });
    let facts = TraceFacts {
        source: trace.source.name().to_owned(),
        unseen: trace.source.unseen(),
        more: more(trace.source.name()),
        exit_code,
        signal,
        ..facts(&trace.engine)
    };
    let mut run = run_of(&trace.engine, facts);
    run.started_at = Some(started_at);
    run.machine = machine;
    run.interrupted = args.length.is_some() && !is_over;
    // The answer is delivered, whatever else cannot be written.
    let replayed = replay.map(|replay| replay.finish(&trace.engine, &mut run, true, &stop));
    let finished = trace.finish();
    let finished = finished.map(|cut| run.warnings.extend(cut));
    let delivered = deliver(outputs, &args.output, &run);
    let failures = [Some(delivered), Some(finished), replayed];
    let failures = failures.into_iter().flatten().filter_map(Result::err);
    // At the end of --for it was ended here.
    let ended = if is_over { by_itself } else { status };
    Ok(after(ended.map_or(0, code), failures))
}

/// The exit code where a program ended with this one, and these failures came after it. They are said; the code is that of
/// the program unless it succeeded.
pub(super) fn after(ended: u8, failures: impl IntoIterator<Item = anyhow::Error>) -> ExitCode {
    let mut last = ExitCode::from(ended);
    for why in failures {
        let failed = finish(Err(why));
        if ended == 0 {
            last = failed;
        }
    }
    last
}

/// Writes and prints a Run. Only a refused table is an error after it was printed.
pub(super) fn deliver(outputs: Outputs<'_>, output: &Output, run: &Run) -> Result<()> {
    outputs.write(run)?;
    print(&output.of(run))?;
    output.refuse_unknown_tables(|| Measurement::sections(run))
}

fn scope(args: &TraceArgs) -> Result<Scope> {
    Ok(match args.pid {
        Some(pid) if !Path::new(&format!("/proc/{pid}")).exists() => {
            return Err(anyhow!("there is no process {pid}"));
        }
        Some(pid) => Scope::Process(pid),
        None if args.all => Scope::All,
        None => Scope::Children,
    })
}

pub(super) fn not_started(args: &TraceArgs, why: &std::io::Error) -> Failure {
    let name = args.command[0].to_string_lossy();
    match why.kind() {
        ErrorKind::NotFound => (NOT_FOUND, anyhow!("there is no program `{name}`")),
        _ => (CANNOT_RUN, anyhow!("cannot run `{name}`: {why}")),
    }
}

/// A trace under way.
pub(super) struct Trace<'a> {
    source: Source<'a>,
    engine: Engine,
    events: Option<BufWriter<File>>,
    viewer: Option<ForViewer>,
    /// The first failure to write them.
    failed: Option<std::io::Error>,
    throttle: Throttle,
}

/// The end of a trace.
pub(super) struct End {
    /// Whether the time or the program was over.
    pub(super) is_over: bool,
    /// How the program ended, if it did so by itself.
    pub(super) by_itself: Option<ExitStatus>,
    /// How it ended.
    status: Option<ExitStatus>,
}

/// For how long quotas stopped the control groups of a process, which may move from one to another.
#[derive(Default)]
struct Throttle {
    /// The process.
    of: Option<u32>,
    groups: CpuGroups,
    last_ns: Option<u64>,
    sum_ns: Option<u64>,
}

impl Throttle {
    /// Reads the counters. Takes about 0.1 ms.
    fn read(&mut self) {
        let Some(pid) = self.of else { return };
        let groups = CpuGroups::of_process(pid);
        let now = groups.throttled().map(|throttled| throttled.time_ns);
        // Of a process that has ended there is nothing to read.
        if now.is_none() {
            return;
        }
        let is_same = std::mem::replace(&mut self.groups, groups) == self.groups;
        let before = std::mem::replace(&mut self.last_ns, now).filter(|_| is_same);
        let more = before
            .zip(now)
            .map(|(before, now)| now.saturating_sub(before));
        self.sum_ns = Some(self.sum_ns.unwrap_or(0) + more.unwrap_or(0));
    }
}

impl<'a> Trace<'a> {
    pub(super) fn new(
        source: Source<'a>,
        events: Option<&Path>,
        viewer: Option<&Path>,
    ) -> Result<Self> {
        let create = |file: &Path| {
            let mut events = BufWriter::new(File::create(file)?);
            events.write_all(text::head(source.tick_ns()).as_bytes())?;
            Ok::<_, std::io::Error>(events)
        };
        let events = events
            .map(|file| create(file).with_context(|| format!("cannot write `{}`", file.display())));
        Ok(Self {
            engine: Engine::new(source.tick_ns()),
            events: events.transpose()?,
            viewer: viewer.map(ForViewer::create).transpose()?,
            failed: None,
            throttle: Throttle::default(),
            source,
        })
    }

    /// The same trace, whose engine predicts the lateness with this slack.
    pub(super) fn predicting(self, slack: Slack) -> Self {
        Self {
            engine: self.engine.predicting(slack),
            ..self
        }
    }

    /// Traces a program or process until it ends, the time is over, or an end is wanted, and ends the program.
    pub(super) fn whole(
        &mut self,
        mut program: Option<&mut Program>,
        process: Option<u32>,
        length: Option<Nanos>,
        stop: &Stop,
    ) -> End {
        self.throttle.of = program.as_ref().map(|it| it.pid()).or(process);
        let over = length.map_or(Tick::NEVER, |length| clock::now() + length);
        let is_over = self.follow(program.as_deref_mut(), process, over, stop);
        if !is_over {
            // From here on a termination waits for the answer.
            stop.end();
        }
        let by_itself = program.as_mut().and_then(|program| program.status());
        let status = by_itself.or_else(|| program?.end(|| self.read(false)));
        self.read(true);
        self.engine.close();
        End {
            is_over,
            by_itself,
            status,
        }
    }

    pub(super) fn into_engine(self) -> Engine {
        self.engine
    }

    /// Reads events until the program or process ends, the time is over, or an end is wanted. Returns
    /// whether the time or the program is over.
    fn follow(
        &mut self,
        mut program: Option<&mut Program>,
        process: Option<u32>,
        over: Tick,
        stop: &Stop,
    ) -> bool {
        loop {
            self.read(false);
            self.throttle.read();
            let has_ended = match (&mut program, process) {
                (Some(program), _) => program.status().is_some(),
                (None, Some(pid)) => !Path::new(&format!("/proc/{pid}")).exists(),
                (None, None) => false,
            };
            if has_ended || clock::now() >= over {
                return true;
            }
            if stop.is_requested() {
                return false;
            }
        }
    }

    /// Waits for events, and takes them.
    fn read(&mut self, last: bool) {
        if !last {
            self.source.wait(READ_MS);
        }
        let (engine, events, failed) = (&mut self.engine, &mut self.events, &mut self.failed);
        let viewer = &mut self.viewer;
        let mut take = |event: &Event| {
            engine.feed(event);
            if let Some(viewer) = viewer {
                viewer.take(event, engine);
            }
            if let Some(file) = events
                && let Err(why) = file.write_all(text::line(event).as_bytes())
            {
                failed.get_or_insert(why);
                *events = None;
            }
        };
        self.source.read(last, &mut take);
        if let Some(ns) = self.throttle.sum_ns.filter(|_| last) {
            take(&Event {
                time: clock::now().as_ns(),
                cpu: 0,
                thread: 0,
                what: What::Throttled { ns },
            });
        }
    }

    /// Writes the last events, and returns what is missing in the file for a viewer.
    fn finish(mut self) -> Result<Option<Warning>> {
        let viewer = self.viewer.take();
        let cut = viewer.map(|viewer| viewer.finish(&mut self.engine));
        let flushed = self.events.map(|mut events| events.flush()).transpose();
        match self.failed {
            Some(why) => Err(why),
            None => flushed.map(|_| ()),
        }
        .context("cannot write the events")?;
        cut.transpose().map(Option::flatten)
    }
}
