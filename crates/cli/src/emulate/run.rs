//! The program under the rule, from its start to its end.

use std::fs;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use punctual_os::program;
use punctual_os::signals::{self, Ask};
use punctual_preload::page::{Logged, Run, Settings, at};
use punctual_record::EmulatedRun;
use punctual_rules::Random;
use punctual_sim::{Model, Time};
use punctual_supervise::{Event, Supervised};
use rustix::process::{Pid, Signal, kill_process};

use super::books::Books;
use super::record::{Output, emulated};
use super::stage::{Stage, cannot_write};
use super::summary::summary;
use super::{By, EmulateArgs, Failure, repeat};
use crate::exec::{CANNOT_RUN, REFUSED, code};
use crate::say;

/// How many waits the log has room for.
pub(super) const LOG_ROOM: u64 = 1_000_000;

pub(super) fn run(args: &EmulateArgs) -> Result<u8, Failure> {
    let model = Model::parse(&args.model).map_err(|why| Failure::new(REFUSED, why))?;
    let run = prepared(args, &model, args.seed.unwrap_or_else(seed_by_time))?;
    let stage = Stage::new(&args.command, Some(&run), args.by)?;
    let output = Output::new(args)?;
    if let Some(turns) = args.repeat {
        return repeat::run(args, turns, &model, &run, &stage, output);
    }
    let room = if args.log.is_some() { LOG_ROOM } else { 0 };
    let (mut command, page) = under(&run, &stage, room)?;
    let status = watched(&mut command, &stage, Some((&run, &page)))?;
    let books = Books::read(&page).map_err(cannot_write("the summary"))?;
    if let Some(file) = &args.log {
        let count = books.logged.min(LOG_ROOM);
        log(file, &run, &page, count)
            .map_err(cannot_write(&format!("the log `{}`", file.display())))?;
    }
    let ran = ended(Some(run.seed), status);
    let emulated = emulated(args, (&run, stage.checked.by), vec![ran], &books);
    if !args.quiet {
        summary(&model, &books, &emulated, args.verbose)
            .iter()
            .for_each(|line| say!("{line}"));
        say!("seed {}", run.seed);
    }
    output.write(&model, run.seed, &emulated, false)?;
    Ok(code(status))
}

/// The program under the rule of a run, and its page, which has room for so many waits in the log.
pub(super) fn under(
    run: &Run,
    stage: &Stage<'_>,
    room: u64,
) -> Result<(Command, fs::File), Failure> {
    let words = run.page(room).map_err(|why| Failure::new(REFUSED, why))?;
    stage.with_page(&words, 8 * room)
}

/// The first words of a page.
pub(super) fn read(mut page: &fs::File, words: usize) -> io::Result<Vec<u64>> {
    let mut bytes = Vec::new();
    page.rewind()?;
    page.take(8 * words as u64).read_to_end(&mut bytes)?;
    let (words, _) = bytes.as_chunks();
    Ok(words.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}

/// A run of the program that has ended, with its seed if it was emulated.
pub(super) fn ended(seed: Option<u64>, status: ExitStatus) -> EmulatedRun {
    EmulatedRun {
        seed,
        exit_code: status.code(),
        signal: status.signal(),
    }
}

/// A seed that is another each time.
pub(super) fn seed_by_time() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |since| {
        since.as_nanos() as u64 ^ u64::from(std::process::id()) << 40
    })
}

/// The run that the arguments ask for, with this seed. It begins now.
pub(super) fn prepared(args: &EmulateArgs, model: &Model, seed: u64) -> Result<Run, Failure> {
    let refused = |why: String| Failure::new(REFUSED, why);
    let name = model.name();
    let Some(rule) = model.rule_as_text() else {
        return Err(refused(format!("the model `{name}` is that of no system")));
    };
    let settings = Settings {
        request: args.request,
        hidden: args.hidden,
        battery: args.battery,
        priority: args.priority,
    };
    for setting in settings.each() {
        if let Some(why) = model.build_rule().refuses(&setting) {
            return Err(refused(format!(
                "the model `{name}` has no `{}`: {why}",
                setting.name()
            )));
        }
    }
    if settings.request.is_some_and(|request| request.is_zero()) {
        return Err(refused(
            "a request for an interval of zero is refused by Windows".to_owned(),
        ));
    }
    // The ticks of the rule lie anywhere beside those of this computer.
    let phase = Random::new(seed)
        .below(Time::from_ns(1_000_000_000))
        .floor_ns();
    let now = punctual::ns::now();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let time_of_day = since_1970.map_or(0, |since| since.as_nanos() as u64);
    Ok(Run {
        taken_for: args.taken_for,
        notes_lines: args.repeat.is_some(),
        clocks: !args.no_clocks,
        time_of_day: time_of_day.wrapping_sub(now),
        settings,
        ..Run::new(rule, now.wrapping_sub(phase), seed)
    })
}

static PROGRAM: Program = Program::new();

/// The process of the program: none yet, one, or what there is after its end.
struct Program(AtomicI32);

const NONE_YET: i32 = 0;
const ENDED: i32 = -1;
/// There was a termination before there was a process, which gets it then.
const TERMINATED: i32 = -2;

impl Program {
    const fn new() -> Self {
        Self(AtomicI32::new(NONE_YET))
    }

    /// A termination has come. Returns the process that is to get it, or the state without one.
    fn terminated(&self) -> i32 {
        let found =
            self.0
                .compare_exchange(NONE_YET, TERMINATED, Ordering::AcqRel, Ordering::Acquire);
        found.unwrap_or_else(|found| found)
    }

    /// Returns whether a termination came before the process.
    fn started(&self, process: i32) -> bool {
        self.0.swap(process, Ordering::AcqRel) == TERMINATED
    }
}

fn terminate(process: i32) {
    // It may have ended.
    let process = Pid::from_raw(process);
    process.map(|process| kill_process(process, Signal::TERM));
}

/// Runs the program to its end. A termination goes to it; the terminal sends Ctrl-C to both. Once it has ended, either ends
/// what it left behind, which a tracer waits for.
pub(super) fn watched(
    command: &mut Command,
    stage: &Stage<'_>,
    emulated: Option<(&Run, &fs::File)>,
) -> Result<ExitStatus, Failure> {
    let pass_on = |ask| match ask {
        Ask::Terminate => match PROGRAM.terminated() {
            NONE_YET => {}
            process @ 1.. => terminate(process),
            _ => std::process::exit(128 + Signal::TERM.as_raw()),
        },
        Ask::Interrupt if PROGRAM.0.load(Ordering::Acquire) == ENDED => {
            std::process::exit(128 + Signal::INT.as_raw())
        }
        Ask::Interrupt => {}
    };
    signals::on_ask(pass_on).map_err(|why| Failure::new(REFUSED, why.to_string()))?;
    to_its_end(command, stage, emulated, |event| match event {
        Event::Started(process) => {
            let process = process as i32;
            if PROGRAM.started(process) {
                terminate(process);
            }
        }
        Event::Ended => PROGRAM.0.store(ENDED, Ordering::Release),
    })
}

/// Starts the program, says so, and waits for its end: under a tracer, if its waits are reached by one.
pub(super) fn to_its_end(
    command: &mut Command,
    stage: &Stage<'_>,
    emulated: Option<(&Run, &fs::File)>,
    report: impl Fn(Event) + Sync,
) -> Result<ExitStatus, Failure> {
    let cannot_run = cannot_run(&stage.file);
    program::keep_ignored(command);
    if let Some((run, page)) = emulated.filter(|_| stage.checked.by == By::Ptrace) {
        let supervised = Supervised {
            run,
            page,
            lets_nanosleep: stage.checked.is_go,
        };
        let shown = stage.file.display();
        return punctual_supervise::run(command, supervised, report).map_err(|why| match why {
            punctual_supervise::Failure::Refused(why) => {
                Failure::new(REFUSED, format!("cannot trace `{shown}`: {why}"))
            }
            punctual_supervise::Failure::Start(why) => cannot_run(why),
        });
    }
    let mut child = command.spawn().map_err(&cannot_run)?;
    report(Event::Started(child.id()));
    child.wait().map_err(&cannot_run)
}

/// The failure to start a program or to wait for it.
fn cannot_run(file: &Path) -> impl Fn(io::Error) -> Failure {
    move |why| {
        let shown = file.display();
        Failure::new(CANNOT_RUN, format!("cannot run `{shown}`: {why}"))
    }
}

/// Writes each wait as a line.
fn log(file: &Path, run: &Run, page: &fs::File, count: u64) -> io::Result<()> {
    let mut text = io::BufWriter::new(fs::File::create(file)?);
    let Settings {
        request,
        hidden,
        battery,
        priority,
    } = run.settings;
    writeln!(text, "# rule\t{}", run.rule)?;
    writeln!(text, "# seed\t{}", run.seed)?;
    writeln!(
        text,
        "# zero\tmonotonic_ns={} time_of_day_ns={}",
        run.origin,
        run.origin.wrapping_add(run.time_of_day),
    )?;
    if let Some(taken_for) = run.taken_for {
        writeln!(text, "# as\t{taken_for}")?;
    }
    writeln!(
        text,
        "# settings\trequest_ns={} hidden={hidden} battery={battery} priority={}",
        request.map_or(0, |request| request.as_ns()),
        priority.map_or("none", |priority| priority.name()),
    )?;
    writeln!(
        text,
        "process\tthread\trule\tcall\tport\tagain\tcalled_ns\tasked_ns\tend_ns\treturned_ns\tby"
    )?;
    each_logged(page, count, |wait| {
        writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            wait.process,
            wait.thread,
            wait.slot,
            wait.call.name(),
            wait.way.method,
            wait.way.again.number(),
            wait.called,
            wait.asked,
            wait.end.as_thirds().div_ceil(3),
            wait.returned.unwrap_or_default(),
            wait.by.name(),
        )
    })?;
    text.flush()
}

/// Calls `take` with each of the first `count` waits in the log of a page.
pub(super) fn each_logged(
    mut page: &fs::File,
    count: u64,
    mut take: impl FnMut(Logged) -> io::Result<()>,
) -> io::Result<()> {
    page.seek(io::SeekFrom::Start(8 * at::LOG as u64))?;
    let mut page = io::BufReader::new(page);
    for _ in 0..count {
        let mut bytes = [0; 64];
        page.read_exact(&mut bytes)?;
        let words = std::array::from_fn(|word| {
            u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * word + byte]))
        });
        if let Some(wait) = Logged::of(&words) {
            take(wait)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_termination_that_comes_before_the_process_is_for_it() {
        let program = Program::new();
        assert_eq!(program.terminated(), NONE_YET);
        assert!(program.started(7));
        assert_eq!(program.terminated(), 7);

        let program = Program::new();
        assert!(!program.started(7));
        assert_eq!(program.terminated(), 7);
        // The second one does not wait for a process that does not come.
        let program = Program::new();
        assert_eq!(program.terminated(), NONE_YET);
        assert_eq!(program.terminated(), TERMINATED);
    }
}
