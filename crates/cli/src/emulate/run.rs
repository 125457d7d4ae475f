//! The program under the rule, from its start to its end.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use punctual_os::signals::{self, Ask};
use punctual_preload::page::{self, Logged, Run, Settings, at};
use punctual_record::EmulatedRun;
use punctual_rules::Random;
use punctual_sim::{Model, Time};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::books::Books;
use super::record::{Output, emulated};
use super::summary::summary;
use super::{CANNOT_RUN, EmulateArgs, Failure, LIBRARY, REFUSED, program, repeat};
use crate::say;

/// How many waits the log has room for.
const LOG_ROOM: u64 = 1_000_000;

pub(super) fn run(args: &EmulateArgs) -> Result<u8, Failure> {
    let model = Model::parse(&args.model).map_err(|why| Failure::new(REFUSED, why))?;
    let run = prepared(args, &model, args.seed.unwrap_or_else(seed_by_time))?;
    let stage = Stage::new(args, &run)?;
    let output = Output::new(args)?;
    if let Some(turns) = args.repeat {
        return repeat::run(args, turns, &model, &run, &stage, output);
    }
    let room = if args.log.is_some() { LOG_ROOM } else { 0 };
    let (mut command, page) = stage.emulated(&run, room)?;
    let status = watched(&mut command, &stage.file)?;
    let books = Books::read(&page).map_err(cannot_write("the summary"))?;
    if let Some(file) = &args.log {
        let count = books.logged.min(LOG_ROOM);
        log(file, &run, &page, count)
            .map_err(cannot_write(&format!("the log `{}`", file.display())))?;
    }
    let ran = ended(Some(run.seed), status);
    let emulated = emulated(args, &run, vec![ran], &books);
    if !args.quiet {
        summary(&model, &books, &emulated, args.verbose)
            .iter()
            .for_each(|line| say!("{line}"));
        say!("seed {}", run.seed);
    }
    output.write(&model, run.seed, &emulated, false)?;
    let signal = ran.signal.map(|signal| 128 + signal);
    Ok(ran.exit_code.or(signal).map_or(REFUSED, |code| code as u8))
}

/// A run of the program that has ended, with its seed if it was emulated.
pub(super) fn ended(seed: Option<u64>, status: ExitStatus) -> EmulatedRun {
    EmulatedRun {
        seed,
        exit_code: status.code(),
        signal: status.signal(),
    }
}

/// The failure to write something.
pub(super) fn cannot_write(what: &str) -> impl Fn(io::Error) -> Failure {
    move |why| Failure::new(REFUSED, format!("cannot write {what}: {why}"))
}

/// The program to start, and the folder of the library.
pub(super) struct Stage<'a> {
    name: &'a OsStr,
    rest: &'a [OsString],
    /// The file of the program.
    pub(super) file: PathBuf,
    folder: TempDir,
}

impl<'a> Stage<'a> {
    /// Finds the program, and writes the library.
    fn new(args: &'a EmulateArgs, run: &Run) -> Result<Self, Failure> {
        let Some(library) = LIBRARY else {
            let why = match cfg!(all(target_os = "linux", target_env = "gnu")) {
                true => {
                    "this build of the command has no library for `emulate`: its build says why"
                }
                false => "`emulate` needs Linux with glibc",
            };
            return Err(Failure::new(REFUSED, why));
        };
        let (name, rest) = args.command.split_first().expect("clap asks for one");
        let file = program::find(name)?;
        program::check(&file, run)?;
        let folder = tempfile::Builder::new()
            .prefix("punctual-emulate-")
            .tempdir();
        let stage = Self {
            name,
            rest,
            file,
            folder: folder.map_err(cannot_write("the library"))?,
        };
        // A child with another user loads the library too; it has the waits, but nothing is counted of it.
        let carried = stage.library();
        mode(stage.folder.path(), 0o755)
            .and_then(|()| fs::write(&carried, library))
            .and_then(|()| mode(&carried, 0o644))
            .map_err(cannot_write("the library"))?;
        Ok(stage)
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join(page::LIBRARY)
    }

    /// The program as it is.
    pub(super) fn native(&self) -> Command {
        let mut command = Command::new(&self.file);
        std::os::unix::process::CommandExt::arg0(&mut command, self.name);
        command.args(self.rest);
        command
    }

    /// The program under the rule, and its page, which has room for so many waits in the log.
    pub(super) fn emulated(&self, run: &Run, room: u64) -> Result<(Command, fs::File), Failure> {
        let path = self.folder.path().join("page");
        let words = run.page(room).map_err(|why| Failure::new(REFUSED, why))?;
        let page = write_page(&path, &words, room).map_err(cannot_write("the page"))?;
        let mut preload = self.library().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        let mut command = self.native();
        command
            .env("LD_PRELOAD", preload)
            .env(page::VARIABLE, &path);
        Ok((command, page))
    }
}

fn mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Writes a new page in the place of the one before, which what is left of an earlier run may still use.
fn write_page(path: &Path, words: &[u64], room: u64) -> io::Result<fs::File> {
    if path.exists() {
        fs::remove_file(path)?;
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut options = fs::File::options();
    let mut page = options.read(true).write(true).create_new(true).open(path)?;
    page.write_all(&bytes)?;
    page.set_len(8 * (page::WORDS as u64 + 8 * room))?;
    mode(path, 0o644)?;
    Ok(page)
}

/// A seed that is another each time.
fn seed_by_time() -> u64 {
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
        rule,
        origin: now.wrapping_sub(phase),
        seed,
        taken_for: args.taken_for,
        notes_lines: args.repeat.is_some(),
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
    let mut child = command.spawn().map_err(cannot_run(file))?;
    PROGRAM.store(child.id() as i32, Ordering::Release);
    child.wait().map_err(cannot_run(file))
}

/// The failure to start a program or to wait for it.
pub(super) fn cannot_run(file: &Path) -> impl Fn(io::Error) -> Failure {
    move |why| {
        let shown = file.display();
        Failure::new(CANNOT_RUN, format!("cannot run `{shown}`: {why}"))
    }
}

/// Writes each wait as a line.
fn log(file: &Path, run: &Run, mut page: &fs::File, count: u64) -> io::Result<()> {
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
            wait.way.again.number(),
            wait.called,
            wait.asked,
            wait.end.as_thirds().div_ceil(3),
            wait.returned.unwrap_or_default(),
        )?;
    }
    text.flush()
}
