//! The program under the rule, from its start to its end.

use std::fs;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use punctual_os::signals::{self, Ask};
use punctual_preload::page::{self, Logged, Run, Settings, at};
use punctual_rules::Random;
use punctual_sim::{Model, Time};
use rustix::process::{Pid, Signal, kill_process};

use super::stage::{Stage, cannot_write};
use super::summary::{Books, summary};
use super::{CANNOT_RUN, EmulateArgs, Failure, REFUSED};
use crate::say;

/// How many waits the log has room for.
const LOG_ROOM: u64 = 1_000_000;

pub(super) fn run(args: &EmulateArgs) -> Result<u8, Failure> {
    let refused = |why: String| Failure::new(REFUSED, why);
    let model = Model::parse(&args.model).map_err(refused)?;
    let run = prepared(args, &model)?;
    let stage = Stage::new(&args.command, Some(&run))?;
    let room = if args.log.is_some() { LOG_ROOM } else { 0 };
    let (mut command, page) = stage.with_page(&run.page(room).map_err(refused)?, 8 * room)?;
    let status = watched(&mut command, &stage.file)?;
    let bytes = read(&page, page::WORDS).map_err(cannot_write("the summary"))?;
    let books = Books::of(&bytes);
    if let Some(file) = &args.log {
        let count = books.logged.min(LOG_ROOM);
        log(file, &run, page, count)
            .map_err(cannot_write(&format!("the log `{}`", file.display())))?;
    }
    if !args.quiet {
        summary(&model, &run, &books, args.verbose)
            .iter()
            .for_each(|line| say!("{line}"));
    }
    Ok(code(status))
}

/// The bytes of the first words of a page.
pub(super) fn read(mut page: &fs::File, words: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    page.rewind()?;
    page.take(8 * words as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The exit code for what the program returned.
pub(super) fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).map_or(REFUSED, |code| code as u8)
}

/// The run that the arguments ask for.
fn prepared(args: &EmulateArgs, model: &Model) -> Result<Run, Failure> {
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
    let by_time = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(1, |since| {
            since.as_nanos() as u64 ^ u64::from(std::process::id()) << 40
        })
    };
    let seed = args.seed.unwrap_or_else(by_time);
    // The ticks of the rule lie anywhere beside those of this computer.
    let phase = Random::new(seed)
        .below(Time::from_ns(1_000_000_000))
        .floor_ns();
    let now = punctual::ns::now();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let time_of_day = since_1970.map_or(0, |since| since.as_nanos() as u64);
    Ok(Run {
        rule,
        origin: now.wrapping_sub(phase),
        seed,
        taken_for: args.taken_for,
        clocks: !args.no_clocks,
        time_of_day: time_of_day.wrapping_sub(now),
        settings,
    })
}

/// The process of the program, as soon as there is one.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Runs the program to its end. A termination goes to it; the terminal sends Ctrl-C to both.
pub(super) fn watched(command: &mut Command, file: &Path) -> Result<ExitStatus, Failure> {
    let pass_on = |ask| {
        if ask == Ask::Terminate {
            match Pid::from_raw(PROGRAM.load(Ordering::Acquire)) {
                // It may have ended.
                Some(program) => _ = kill_process(program, Signal::TERM),
                None => std::process::exit(128 + Signal::TERM.as_raw()),
            }
        }
    };
    signals::on_ask(pass_on).map_err(|why| Failure::new(REFUSED, why.to_string()))?;
    let shown = file.display();
    let fail = |why: io::Error| Failure::new(CANNOT_RUN, format!("cannot run `{shown}`: {why}"));
    let mut child = command.spawn().map_err(fail)?;
    PROGRAM.store(child.id() as i32, Ordering::Release);
    child.wait().map_err(fail)
}

/// Writes each wait as a line.
fn log(file: &Path, run: &Run, mut page: fs::File, count: u64) -> io::Result<()> {
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
    page.seek(io::SeekFrom::Start(8 * at::LOG as u64))?;
    let mut page = io::BufReader::new(page);
    for _ in 0..count {
        let mut bytes = [0; 64];
        page.read_exact(&mut bytes)?;
        let words = std::array::from_fn(|word| {
            u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * word + byte]))
        });
        let Some(wait) = Logged::of(&words) else {
            continue;
        };
        let by = match (wait.returned, wait.is_timer) {
            (None, _) => "under-way",
            (Some(_), true) => "timer",
            (Some(_), false) => "event",
        };
        writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{by}",
            wait.process,
            wait.thread,
            wait.slot,
            wait.call.name(),
            wait.way.method,
            u8::from(wait.way.again),
            wait.called,
            wait.asked,
            wait.end.as_thirds().div_ceil(3),
            wait.returned.unwrap_or_default(),
        )?;
    }
    text.flush()
}
