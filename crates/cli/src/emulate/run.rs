//! The program under the rule, from its start to its end.

use std::fs::{self, Permissions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
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

use super::summary::{Books, summary};
use super::{CANNOT_RUN, EmulateArgs, Failure, LIBRARY, REFUSED, program};
use crate::say;

/// How many waits the log has room for.
const LOG_ROOM: u64 = 1_000_000;

pub(super) fn run(args: &EmulateArgs) -> Result<u8, Failure> {
    let refused = |why: String| Failure::new(REFUSED, why);
    let Some(library) = LIBRARY else {
        let why = match cfg!(all(target_os = "linux", target_env = "gnu")) {
            true => "this build of the command has no library for `emulate`: its build says why",
            false => "`emulate` needs Linux with glibc",
        };
        return Err(refused(why.to_owned()));
    };
    let model = Model::parse(&args.model).map_err(refused)?;
    let run = prepared(args, &model)?;
    let (name, rest) = args.command.split_first().expect("clap asks for one");
    let file = program::find(name)?;
    program::check(&file, &run)?;

    let io = |what: &str| {
        let what = what.to_owned();
        move |why: io::Error| Failure::new(REFUSED, format!("cannot write {what}: {why}"))
    };
    let folder = tempfile::Builder::new()
        .prefix("punctual-emulate-")
        .tempdir();
    let folder = folder.map_err(io("the library"))?;
    // A child with another user loads the library too; it has the waits, but nothing is counted of it.
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
    mode(folder.path(), 0o755).map_err(io("the library"))?;
    let carried = folder.path().join(page::LIBRARY);
    fs::write(&carried, library).map_err(io("the library"))?;
    mode(&carried, 0o644).map_err(io("the library"))?;
    let room = if args.log.is_some() { LOG_ROOM } else { 0 };
    let path = folder.path().join("page");
    let words = run.page(room).map_err(refused)?;
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
    let mut shared = fs::File::create_new(&path).map_err(io("the page"))?;
    shared.write_all(&bytes).map_err(io("the page"))?;
    let len = 8 * (page::WORDS as u64 + 8 * room);
    shared.set_len(len).map_err(io("the page"))?;
    mode(&path, 0o644).map_err(io("the page"))?;

    let mut preload = carried.into_os_string();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preload.push(":");
        preload.push(others);
    }
    let mut command = Command::new(&file);
    command
        .args(rest)
        .env("LD_PRELOAD", preload)
        .env(page::VARIABLE, &path);
    std::os::unix::process::CommandExt::arg0(&mut command, name);
    let status = watched(&mut command, &file)?;

    let mut bytes = Vec::new();
    let head = 8 * page::WORDS as u64;
    let read = fs::File::open(&path).map_err(io("the summary"))?;
    (&read)
        .take(head)
        .read_to_end(&mut bytes)
        .map_err(io("the summary"))?;
    let books = Books::of(&bytes);
    if let Some(file) = &args.log {
        let count = books.logged.min(LOG_ROOM);
        log(file, &run, read, count).map_err(io(&format!("the log `{}`", file.display())))?;
    }
    if !args.quiet {
        summary(&model, &run, &books, args.verbose)
            .iter()
            .for_each(|line| say!("{line}"));
    }
    let signal = status.signal().map(|signal| 128 + signal);
    Ok(status.code().or(signal).map_or(REFUSED, |code| code as u8))
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
fn watched(command: &mut Command, file: &Path) -> Result<ExitStatus, Failure> {
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
