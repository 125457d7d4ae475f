//! The page that the command and the processes of a run share: words of 64 bits.
//!
//! The command writes what comes first and reads the books when the run is over. Nothing that a
//! process reads in it is an address or a length of memory: a spoilt page makes wrong waits.

use std::mem::discriminant;

use punctual_core::{Method, Nanos};
use punctual_rules::setting::{Power, Priority};
use punctual_rules::{Description, Host, Setting, Time};

use crate::Call;
use crate::runtime::{self, TakenFor, Way};

/// The variable of the environment that names the file of the page.
pub const VARIABLE: &str = "PUNCTUAL_EMULATE";

/// The name of the library, in the folder of the page.
pub const LIBRARY: &str = "libpunctual_preload.so";

/// The first word of a page of this version.
pub const MAGIC: u64 = u64::from_le_bytes(*b"pnctual1");

/// The number of rules that a process has; a wait takes a free one.
pub const SLOTS: usize = 64;

/// Places of words.
pub mod at {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// The instant of CLOCK_MONOTONIC at which the time of the rule is zero, in nanoseconds; it wraps.
    pub const ORIGIN: usize = 1;
    /// The seed of the chances of a rule.
    pub const SEED: usize = 2;
    /// The runtime or version that the user states for programs of runtimes: [`TakenFor::word`](crate::runtime::TakenFor::word).
    pub const TAKEN_FOR: usize = 3;
    /// The interval that each process requests, in nanoseconds, if any.
    pub const REQUEST: usize = 4;
    /// Whether no process is seen or heard; whether the computer runs on battery.
    pub const HIDDEN: usize = 5;
    /// See there.
    pub const BATTERY: usize = 6;
    /// The priority of each thread by number, and one; zero for none.
    pub const PRIORITY: usize = 7;
    /// The length of the text of the rule, and the text.
    pub const RULE_LEN: usize = 8;
    /// See there.
    pub const RULE: usize = 9;
    /// How many processes there were that are emulated.
    pub const PROCESSES: usize = 140;
    /// How many waits found no free rule, or had times that a tracer could not read or write.
    pub const UNRULED: usize = 141;
    /// How often a timer of a file descriptor was set that is not emulated (timerfd_settime).
    pub const TIMERS: usize = 142;
    /// How many waits were of lengths that the books have no room for.
    pub const OTHERS: usize = 143;
    /// How many waits began while the log had no room.
    pub const UNLOGGED: usize = 144;
    /// How many waits are in the log.
    pub const LOGGED: usize = 145;
    /// How many waits the log has room for.
    pub const LOG_ROOM: usize = 146;
    /// Whether the lines of programs that wait are noted.
    pub const NOTES_LINES: usize = 147;
    /// Whether clocks of runtimes are replaced.
    pub const CLOCKS: usize = 148;
    /// The time of day less CLOCK_MONOTONIC, in nanoseconds; it wraps.
    pub const TIME_OF_DAY: usize = 149;
    /// A bit for each minor version of CPython that was emulated.
    pub const PYTHONS: usize = 150;
    /// A bit for each minor version of Rust 1 that was emulated, in two words.
    pub const RUSTS: usize = 153;
    /// A bit for each major version of Node that was emulated.
    pub const NODES: usize = 155;
    /// A bit for each major version of OpenJDK that was emulated.
    pub const JAVAS: usize = 158;
    /// How many processes of CPython had clocks to replace, and in how many they were replaced.
    pub const CLOCKS_WANTED: usize = 151;
    /// See there.
    pub const CLOCKS_REPLACED: usize = 152;
    /// A bit for each minor version of Go 1 that was emulated.
    pub const GOS: usize = 156;
    /// Names of runtimes that were not emulated: four words each, of which the first 31 bytes are the name.
    pub const RUNTIMES: usize = 160;
    /// The books: [`super::BOOKS`] entries of eight words.
    pub const BOOKS: usize = 192;
    /// The lines of programs that wait: [`super::LINES`] entries of [`super::LINE_WORDS`] words: one that is not
    /// zero, the number of the line, and the end of the name of its file.
    pub const LINES: usize = BOOKS + 8 * super::BOOKS;
    /// The log: entries of eight words.
    pub const LOG: usize = LINES + super::LINE_WORDS * super::LINES;

    /// The word with the bit of a version, and the version; `None` for a C program.
    pub fn version(taken_for: super::TakenFor) -> Option<(usize, u8)> {
        use super::TakenFor;
        match taken_for {
            TakenFor::Plain => None,
            TakenFor::Python(minor) => Some((PYTHONS, minor)),
            TakenFor::Rust(minor) => Some((RUSTS + usize::from(minor / 64) % 2, minor)),
            TakenFor::Node(major) => Some((NODES, major)),
            TakenFor::Go(minor) => Some((GOS, minor)),
            TakenFor::Java(major) => Some((JAVAS, major)),
        }
    }
}

/// How many runtimes are named.
pub const RUNTIMES: usize = 8;
/// How many different calls and lengths the books have room for.
pub const BOOKS: usize = 256;
/// How many lines of programs are noted.
pub const LINES: usize = 256;
/// How many words a line takes.
pub const LINE_WORDS: usize = 32;
/// The longest text of a rule, in bytes.
pub const RULE_MOST: usize = 1024;

/// The words before the log.
pub const WORDS: usize = at::LOG;

/// A page of at most so many words is kept in memory, and not on a disk.
pub const IN_MEMORY_MOST: usize = 1 << 20;

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The rule as text, which [`Description`] reads.
    pub rule: String,
    /// See [`at::ORIGIN`].
    pub origin: u64,
    /// See [`at::SEED`].
    pub seed: u64,
    /// See [`at::TAKEN_FOR`].
    pub taken_for: Option<TakenFor>,
    /// See [`at::NOTES_LINES`].
    pub notes_lines: bool,
    /// See [`at::CLOCKS`].
    pub clocks: bool,
    /// See [`at::TIME_OF_DAY`].
    pub time_of_day: u64,
    /// The settings of every process.
    pub settings: Settings,
}

/// The settings of every process of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The timer interval that it requests.
    pub request: Option<Nanos>,
    /// Whether it is neither visible nor audible.
    pub hidden: bool,
    /// Whether the computer runs on its battery.
    pub battery: bool,
    /// How much its threads matter.
    pub priority: Option<Priority>,
}

impl Settings {
    /// Each of them, as a rule has it.
    pub fn each(self) -> impl Iterator<Item = Setting> {
        let window = Setting::Window {
            visible: false,
            foreground: false,
            audible: false,
        };
        [
            self.priority.map(Setting::Priority),
            self.battery.then_some(Setting::Power(Power::Battery)),
            self.hidden.then_some(window),
            self.request.map(Setting::request),
        ]
        .into_iter()
        .flatten()
    }
}

impl Run {
    /// A run under a rule whose zero lies at `origin` on CLOCK_MONOTONIC, with nothing else set.
    pub fn new(rule: impl Into<String>, origin: u64, seed: u64) -> Self {
        Self {
            rule: rule.into(),
            origin,
            seed,
            taken_for: None,
            notes_lines: false,
            clocks: false,
            time_of_day: 0,
            settings: Settings::default(),
        }
    }

    /// The words of a page before anything has happened, with room for so many waits in the log.
    ///
    /// # Errors
    /// The text of the rule is too long.
    pub fn page(&self, log_room: u64) -> Result<Vec<u64>, String> {
        if self.rule.len() > RULE_MOST {
            return Err(format!("the rule takes more than {RULE_MOST} bytes"));
        }
        let mut words = vec![0; WORDS];
        words[at::MAGIC] = MAGIC;
        words[at::ORIGIN] = self.origin;
        words[at::SEED] = self.seed;
        words[at::TAKEN_FOR] = TakenFor::word(self.taken_for);
        words[at::NOTES_LINES] = u64::from(self.notes_lines);
        words[at::CLOCKS] = u64::from(self.clocks);
        words[at::TIME_OF_DAY] = self.time_of_day;
        let settings = self.settings;
        words[at::REQUEST] = settings.request.map_or(0, Nanos::as_ns);
        words[at::HIDDEN] = u64::from(settings.hidden);
        words[at::BATTERY] = u64::from(settings.battery);
        words[at::PRIORITY] = settings.priority.map_or(0, |priority| {
            1 + Priority::ALL
                .iter()
                .take_while(|one| **one != priority)
                .count() as u64
        });
        words[at::RULE_LEN] = self.rule.len() as u64;
        for (word, bytes) in words[at::RULE..]
            .iter_mut()
            .zip(self.rule.as_bytes().chunks(8))
        {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(whole);
        }
        words[at::LOG_ROOM] = log_room;
        Ok(words)
    }

    /// Reads a page; `None` if it is none.
    pub fn read(word: impl Fn(usize) -> u64) -> Option<Self> {
        let len = usize::try_from(word(at::RULE_LEN)).ok()?;
        if word(at::MAGIC) != MAGIC || len > RULE_MOST {
            return None;
        }
        let words = (at::RULE..).take(len.div_ceil(8)).map(&word);
        let mut rule: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        rule.truncate(len);
        Some(Self {
            rule: String::from_utf8(rule).ok()?,
            origin: word(at::ORIGIN),
            seed: word(at::SEED),
            taken_for: TakenFor::of(word(at::TAKEN_FOR)),
            notes_lines: word(at::NOTES_LINES) != 0,
            clocks: word(at::CLOCKS) != 0,
            time_of_day: word(at::TIME_OF_DAY),
            settings: Settings {
                request: Some(Nanos::new(word(at::REQUEST))).filter(|length| !length.is_zero()),
                hidden: word(at::HIDDEN) != 0,
                battery: word(at::BATTERY) != 0,
                priority: usize::try_from(word(at::PRIORITY))
                    .ok()
                    .and_then(|number| Priority::ALL.get(number.checked_sub(1)?).copied()),
            },
        })
    }

    /// Decides which port a process is emulated as. `None` if it cannot be emulated: its runtime has no
    /// lines in a table, and the user does not say what to take it for.
    pub fn taken_for(&self, found: Found) -> Option<TakenFor> {
        let known = match found {
            Found::Plain => return Some(TakenFor::Plain),
            Found::Python(minor) => Some(TakenFor::Python(minor)),
            Found::Rust(minor) => Some(TakenFor::Rust(minor)),
            Found::Node(major) => Some(TakenFor::Node(major)),
            Found::Go(minor) => Some(TakenFor::Go(minor)),
            Found::Java(major) => Some(TakenFor::Java(major)),
            Found::Other => None,
        };
        // A program of one runtime starts those of others, which stay themselves.
        let is_meant = |taken_for: &TakenFor| match (known, taken_for) {
            (None, _) | (_, TakenFor::Plain) => true,
            (Some(known), taken_for) => discriminant(&known) == discriminant(taken_for),
        };
        if let Some(taken_for) = self.taken_for.filter(is_meant) {
            return Some(taken_for);
        }
        match known.filter(|known| known.has_lines()) {
            Some(known) => Some(known),
            // Each call is itself there.
            None if self.rule.starts_with("linux") => Some(TakenFor::Plain),
            None => None,
        }
    }

    /// A rule of a slot, which has heard all settings and the request of the runtime; `None` if there is no such rule.
    pub fn host(&self, slot: usize, taken_for: TakenFor) -> Option<Host> {
        let description: Description = self.rule.parse().ok()?;
        let seed = self.seed.wrapping_add(slot as u64);
        let mut host = Host::new(&description, seed);
        let is_old = !(host.rule().methods()).contains(&Method::HighResolutionTimer);
        let requested = taken_for
            .runtime()
            .and_then(|(runtime, _)| runtime.requested);
        let requested = requested.filter(|_| is_old).map(Setting::request);
        for setting in self.settings.each().chain(requested) {
            if host.rule().refuses(&setting).is_none() {
                host.set(setting, Time::ZERO);
            }
        }
        Some(host)
    }
}

/// The kind of waits that have an entry of the books in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The function.
    pub call: Call,
    /// The length that it asks for, to two digits.
    pub asked: Nanos,
    /// The place of its line in the table of lines, and one; zero if the line is not known.
    pub line: u16,
}

impl Kind {
    /// The first word of their entry.
    pub fn word(self) -> u64 {
        let asked = self.asked.as_ns().max(1);
        let zeros = asked.ilog10().saturating_sub(1);
        let digits = asked / 10_u64.pow(zeros);
        (self.call as u64 + 1) << 32 | u64::from(self.line) << 16 | u64::from(zeros) << 8 | digits
    }

    /// Reads such a word.
    pub fn of(word: u64) -> Option<Self> {
        let step = 10_u64.checked_pow((word >> 8 & 0xff) as u32)?;
        Some(Self {
            call: Call::of((word >> 32).checked_sub(1)?)?,
            asked: Nanos::new(step.checked_mul(word & 0xff)?),
            line: (word >> 16) as u16,
        })
    }
}

/// The runtime of a program, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is of none of the known runtimes.
    Plain,
    /// CPython 3 of this minor version.
    Python(u8),
    /// Rust 1 of this minor version.
    Rust(u8),
    /// Node of this major version.
    Node(u8),
    /// Go 1 of this minor version.
    Go(u8),
    /// OpenJDK of this major version.
    Java(u8),
    /// Another runtime, or CPython of an unknown version.
    Other,
}

impl Found {
    /// Finds the runtime by the name of a program.
    pub fn by_name(name: &[u8]) -> Self {
        let version = name.strip_prefix(b"python");
        match version.and_then(runtime::minor_version) {
            Some(minor) if is_runtime(name, &RUNTIME_NAMES) => Self::Python(minor),
            _ if is_runtime(name, &RUNTIME_NAMES) => Self::Other,
            _ => Self::Plain,
        }
    }
}

/// Programs whose ports to other systems wait by other calls than a C program does.
pub const RUNTIME_NAMES: [&[u8]; 15] = [
    b"python", b"pypy", b"node", b"bun", b"deno", b"java", b"jshell", b"gradle", b"dotnet",
    b"mono", b"ruby", b"perl", b"php", b"beam", b"erl",
];

/// Whether the name of a program is one of these, or begins with one and goes on with a version.
pub fn is_runtime(name: &[u8], runtimes: &[&[u8]]) -> bool {
    let is_version = |rest: &[u8]| {
        let mut bytes = rest.iter();
        bytes.all(|byte| byte.is_ascii_digit() || b".-mtd".contains(byte))
    };
    let mut runtimes = runtimes.iter();
    runtimes.any(|runtime| name.strip_prefix(*runtime).is_some_and(is_version))
}

/// The end of a wait: its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Nothing yet.
    UnderWay,
    /// Its timer.
    Timer,
    /// An event or a signal.
    Event,
    /// Its timer or an event: the return of the call was not observed.
    Unknown,
}

impl By {
    /// All, by number in the log.
    const ALL: [Self; 4] = [Self::UnderWay, Self::Timer, Self::Event, Self::Unknown];

    /// It in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnderWay => "under-way",
            Self::Timer => "timer",
            Self::Event => "event",
            Self::Unknown => "unknown",
        }
    }
}

/// A wait, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// The rule that it took. The waits of one are in their order.
    pub slot: usize,
    /// The function.
    pub call: Call,
    /// The way in which its port waits instead.
    pub way: Way,
    /// When it was called, in nanoseconds of the rule's time.
    pub called: u64,
    /// The length that it asked for, in nanoseconds.
    pub asked: u64,
    /// When the rule ended it, in the rule's time.
    pub end: Time,
    /// When the function returned, in nanoseconds of the rule's time; `None` if it did not, or if that was not
    /// observed.
    pub returned: Option<u64>,
    /// The cause of its end.
    pub by: By,
}

impl Logged {
    /// The words of it. The last is not zero.
    pub fn words(self) -> [u64; 8] {
        [
            u64::from(self.process) << 32 | u64::from(self.thread),
            self.slot as u64,
            self.call as u64 | self.way.word() << 32,
            self.called,
            self.asked,
            self.end.as_thirds(),
            self.returned.unwrap_or_default(),
            1 + self.by as u64,
        ]
    }

    /// Reads words; `None` if they are of no wait.
    pub fn of(words: &[u64; 8]) -> Option<Self> {
        let &[who, slot, call, called, asked, end, returned, by] = words;
        Some(Self {
            process: (who >> 32) as u32,
            thread: who as u32,
            slot: usize::try_from(slot).ok().filter(|slot| *slot < SLOTS)?,
            call: Call::of(call & 0xffff_ffff)?,
            way: Way::of(call >> 32)?,
            called,
            asked,
            end: Time::from_thirds(end),
            // No call returns at the first nanosecond of a run.
            returned: Some(returned).filter(|returned| *returned > 0),
            by: *By::ALL.get(usize::try_from(by.checked_sub(1)?).ok()?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_crosses_as_words() {
        for settings in [
            Settings::default(),
            Settings {
                request: Some(Nanos::from_ms(1)),
                hidden: true,
                battery: true,
                priority: Some(Priority::RealTime),
            },
        ] {
            let run = Run {
                rule: "windows-11 interval=15.625ms".to_owned(),
                origin: u64::MAX - 5,
                seed: 7,
                taken_for: Some(TakenFor::Python(9)),
                notes_lines: true,
                clocks: true,
                time_of_day: 9,
                settings,
            };
            let words = run.page(9).unwrap();
            assert_eq!(Run::read(|at| words[at]), Some(run));
            assert_eq!((words.len(), words[at::LOG_ROOM]), (WORDS, 9));
        }
        assert_eq!(Run::read(|_| 0), None);
        assert_eq!(Run::read(|_| MAGIC), None);
    }

    #[test]
    fn a_program_is_what_its_name_and_the_user_say() {
        for (name, found) in [
            ("python3.11", Found::Python(11)),
            ("python3.8", Found::Python(8)),
            ("python3", Found::Other),
            ("node", Found::Other),
            ("pythonic", Found::Plain),
            ("sh", Found::Plain),
        ] {
            assert_eq!(Found::by_name(name.as_bytes()), found, "{name}");
        }
        let mut run = Run::new("windows-11", 0, 0);
        assert_eq!(run.taken_for(Found::Plain), Some(TakenFor::Plain));
        assert_eq!(run.taken_for(Found::Python(9)), Some(TakenFor::Python(9)));
        assert_eq!(run.taken_for(Found::Python(8)), None);
        assert_eq!(run.taken_for(Found::Other), None);
        run.taken_for = Some(TakenFor::Python(10));
        assert_eq!(run.taken_for(Found::Other), Some(TakenFor::Python(10)));
        assert_eq!(run.taken_for(Found::Plain), Some(TakenFor::Plain));
        run.taken_for = Some(TakenFor::Plain);
        assert_eq!(run.taken_for(Found::Python(9)), Some(TakenFor::Plain));
        run.taken_for = None;
        assert_eq!(run.taken_for(Found::Rust(75)), Some(TakenFor::Rust(75)));
        assert_eq!(run.taken_for(Found::Rust(62)), None);
        run.taken_for = Some(TakenFor::Rust(80));
        assert_eq!(run.taken_for(Found::Rust(75)), Some(TakenFor::Rust(80)));
        assert_eq!(run.taken_for(Found::Other), Some(TakenFor::Rust(80)));
        // A runtime stays itself where the user states another.
        assert_eq!(run.taken_for(Found::Node(20)), Some(TakenFor::Node(20)));
        assert_eq!(run.taken_for(Found::Node(21)), None);
        assert_eq!(run.taken_for(Found::Python(9)), Some(TakenFor::Python(9)));
        (run.taken_for, run.rule) = (None, "linux".to_owned());
        assert_eq!(run.taken_for(Found::Other), Some(TakenFor::Plain));
    }

    #[test]
    fn go_requests_an_interval_where_windows_has_no_high_resolution_timers() {
        let wait = |rule: &str, taken_for| {
            let run = Run::new(rule, 0, 1);
            let (now, due) = (Time::from_ns(20_000_000), Time::from_ns(21_000_000));
            let mut host = run.host(0, taken_for).unwrap();
            host.end(Method::WindowsSleep, now, due).floor_ns()
        };
        let old = "windows-8 interval=15.625ms finest=1ms base=tick hardware=exact expiry=owner";
        assert_eq!(wait(old, TakenFor::Plain), 31_250_000);
        assert!(wait(old, TakenFor::Go(22)) < 23_000_000);
        let new = "windows-10-2004 interval=15.625ms finest=500us base=now hardware=exact cycles=nearest \
                   cap=500us slip=0 class=expiry global=0 expiry=owner hires_late=5us";
        assert_eq!(wait(new, TakenFor::Go(26)), 31_250_000);
    }

    #[test]
    fn lengths_count_to_two_digits() {
        for (asked, kept) in [
            (1, 1),
            (19, 19),
            (199, 190),
            (1_000_000, 1_000_000),
            (15_999_999, 15_000_000),
            (315_360_000_000_000_000, 310_000_000_000_000_000),
        ] {
            for line in [0, 9, u16::MAX] {
                let [kind, read] = [asked, kept].map(|asked| Kind {
                    call: Call::Futex,
                    asked: Nanos::new(asked),
                    line,
                });
                assert_eq!(Kind::of(kind.word()), Some(read));
            }
        }
        assert_eq!(Kind::of(0), None);
        assert_eq!(Kind::of(u64::MAX), None);
    }

    #[test]
    fn a_wait_crosses_as_words() {
        for (returned, by) in [
            (None, By::UnderWay),
            (Some(5), By::Timer),
            (Some(6), By::Event),
            (None, By::Event),
            (None, By::Unknown),
        ] {
            let logged = Logged {
                process: 12,
                thread: u32::MAX,
                slot: 63,
                call: Call::Futex,
                way: Way {
                    method: punctual_core::Method::WaitForSingleObject,
                    again: runtime::Again::UntilOver,
                },
                called: 1,
                asked: 2,
                end: Time::from_thirds(10),
                returned,
                by,
            };
            assert_eq!(Logged::of(&logged.words()), Some(logged));
        }
        assert_eq!(Logged::of(&[0; 8]), None);
        assert_eq!(Logged::of(&[0, 0, 0, 0, 0, 0, 0, 5]), None);
    }
}
