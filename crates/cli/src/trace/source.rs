//! The sources of events of this computer: tracepoints of the kernel, or a library in the program.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use anyhow::anyhow;
use punctual_os::perf::{Perf, Scope};
use punctual_trace::Event;

use super::library::Library;
use super::program::Program;
use super::{By, Failure, TraceArgs, UNSEEN, refused};

/// An open source.
pub(super) enum Source<'a> {
    Perf(Box<Perf>, &'a [OsString]),
    Library(Box<Library<'a>>),
    /// No events, where the library of another command measures the waits; and why.
    None(String),
}

impl<'a> Source<'a> {
    /// The one that the arguments name. Without that it is perf, or where that is refused and a program is to be started,
    /// the library.
    pub(super) fn open(args: &'a TraceArgs, scope: Scope) -> Result<Self, Failure> {
        let has_program = !args.command.is_empty();
        let library = || Library::open(&args.command).map(|it| Self::Library(Box::new(it)));
        if args.by == Some(By::Library) {
            return match has_program {
                true => library(),
                false => Err(refused(anyhow!(
                    "--by library works only with a program that this command starts: add `-- COMMAND`, or use --by perf"
                ))),
            };
        }
        let why = match Perf::open(scope) {
            Ok(perf) => return Ok(Self::Perf(Box::new(perf), &args.command)),
            Err(why) => not_permitted(why),
        };
        match args.by {
            None if has_program => {
                library().map_err(|(code, without)| (code, anyhow!("{without:#}; and {why:#}")))
            }
            _ => Err(refused(why)),
        }
    }

    /// Perf, for programs that are started otherwise.
    pub(super) fn perf(scope: Scope) -> Result<Self, Failure> {
        let perf = Perf::open(scope).map_err(|why| refused(not_permitted(why)))?;
        Ok(Self::Perf(Box::new(perf), &[]))
    }

    /// Its name in a Run.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Perf(..) => "perf",
            Self::Library(_) | Self::None(_) => "library",
        }
    }

    /// The facts that it does not show.
    pub(super) fn unseen(&self) -> Vec<String> {
        match self {
            Self::Perf(..) => UNSEEN.map(str::to_owned).to_vec(),
            Self::Library(library) => library.unseen(),
            Self::None(why) => vec![format!("The events of the kernel were not there: {why}.")],
        }
    }

    /// The length of a tick of the timer wheel, in nanoseconds.
    pub(super) fn tick_ns(&self) -> Option<u64> {
        match self {
            Self::Perf(perf, _) => perf.tick_ns(),
            Self::Library(library) => library.tick_ns(),
            Self::None(_) => None,
        }
    }

    /// Starts the program of the command line, if there is one for this source.
    pub(super) fn start(&mut self) -> std::io::Result<Program> {
        match self {
            Self::Perf(_, command) => {
                let (name, rest) = command
                    .split_first()
                    .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?;
                Program::start(Command::new(name).args(rest))
            }
            Self::Library(library) => library.start(),
            Self::None(_) => Err(std::io::ErrorKind::NotFound.into()),
        }
    }

    /// Waits for events, for `ms` at most.
    pub(super) fn wait(&self, ms: u16) {
        match self {
            Self::Perf(perf, _) => perf.wait(ms),
            Self::Library(library) => library.wait(ms),
            Self::None(_) => std::thread::sleep(Duration::from_millis(ms.into())),
        }
    }

    /// Gives the events so far to `take`, in the order of time; of the last instants only if it is the `last` time.
    pub(super) fn read(&mut self, last: bool, take: impl FnMut(&Event)) {
        match self {
            Self::Perf(perf, _) => perf.read(last, take),
            Self::Library(library) => library.read(last, take),
            Self::None(_) => {}
        }
    }
}

/// The error that says which permission is missing, and how to get it.
fn not_permitted(why: punctual_os::Error) -> anyhow::Error {
    match why.is_permission() {
        true => anyhow!("{why}; run it as root: sudo punctual trace ..."),
        false => anyhow!("{why}"),
    }
}
