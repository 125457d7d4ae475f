//! What the simulated pools are held against: figures that others published, one
//! row each.
//!
//! | file | rows | what |
//! |---|---|---|
//! | `article` | Z01-Z07, Z09-Z12, Z16, Z23, Z24 | the page-zeroing article's own machine |
//! | `elsewhere` | Z13-Z15, Z17, Z18 | other machines and other versions of Windows |
//! | `locks` | Z26-Z37 | papers on locks |
//! | `arithmetic` | Z06, Z08, Z20-Z22, Z25, Z55, Z56 | what follows from published numbers without a simulation |
//!
//! The numbers are those of the list of targets; the ones in between are reserved,
//! or of hardware and kernels, which no simulation reproduces.
//!
//! Nothing that the article says of its worst case, row Z01, went into the simulated
//! computer. What was fitted elsewhere, or has no source, weakens these rows:
//!
//! | rows | what | fitted to |
//! |---|---|---|
//! | Z04, Z05, Z07 | 21 active workers | row Z04 itself |
//! | Z04, Z05, Z07, Z09, Z10, Z12, Z14, Z16, Z18 | 2.3 us a page of Windows 10 besides zeroing | with this simulator to the 3.96 us of the trace of rows Z04 and Z05 |
//! | Z09, Z10 | what is freed in a second | the 29 CPUs of row Z09 |
//! | Z13 | nothing besides zeroing in Windows 11, a spin lock where pages are put | the 80 % of row Z13 |
//! | Z26, Z28, Z30-Z32 | 500 cycles a request | the curves of rows Z26 to Z31 |
//! | Z32 | takes of the lock for each operation, the section, the time away | the queued lock's 350 operations a ms, the ticket lock's peak |
//! | Z34 | the section, the time away | the second ratio of row Z34, the place of its peak |
//! | Z35 | a section of 100 ns, 5 us away | nothing: no source |
//!
//! A row that is another one in other units says of which one.

mod arithmetic;
mod article;
mod elsewhere;
mod locks;

pub(super) use crate::article::PAGES;
use punctual_program::Refusal;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Job, Machine, System, simulate};

/// One figure that the simulation is held against.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name: `Z01`.
    pub id: &'static str,
    /// What it is evidence of.
    pub kind: Kind,
    /// Where the figure comes from, with the short names of [`SOURCES`].
    pub source: &'static str,
    /// What is done.
    pub input: &'static str,
    /// What comes of it according to the source.
    pub expected: &'static str,
    /// How far from that is still the same.
    pub tolerance: &'static str,
    /// Does it. Always the same.
    pub run: fn() -> Result<Outcome, Refusal>,
    /// The row that is the same observation, in other units.
    pub same_as: Option<&'static str>,
}

impl Row {
    const fn same_as(mut self, id: &'static str) -> Self {
        self.same_as = Some(id);
        self
    }

    /// Whether it is an observation of its own: not another row in other units, and
    /// no arithmetic.
    pub fn is_observation(&self) -> bool {
        self.same_as.is_none() && self.kind != Kind::Arithmetic
    }
}

/// What a row is evidence of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Windows, as somebody saw it.
    Windows,
    /// A lock, as a paper has it.
    Lock,
    /// Numbers that follow from numbers.
    Arithmetic,
}

impl Kind {
    /// The letter that stands for it in a table.
    pub const fn letter(self) -> char {
        match self {
            Self::Windows => 'W',
            Self::Lock => 'L',
            Self::Arithmetic => 'A',
        }
    }
}

/// What came of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What came out.
    pub got: String,
    /// Whether that is what was expected.
    pub verdict: Verdict,
    /// How it was made; may be empty.
    pub note: &'static str,
}

/// Whether what came out is what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Holds,
    /// Not within the tolerance, and this is why.
    Explained(&'static str),
    /// Not within the tolerance.
    Deviates,
    /// Nobody knows what it should be.
    Predicted,
}

impl Verdict {
    /// Of a figure whose deviation nobody has explained.
    const fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Deviates }
    }

    /// Of a figure that is known to be missed, and why; where it is met after all,
    /// it holds.
    const fn or(holds: bool, why: &'static str) -> Self {
        if holds {
            Self::Holds
        } else {
            Self::Explained(why)
        }
    }

    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "ok",
            Self::Explained(_) => "explained",
            Self::Deviates => "differs",
            Self::Predicted => "prediction",
        }
    }
}

/// All rows, in the order of their names.
pub fn rows() -> Vec<Row> {
    let mut rows = [
        article::rows(),
        elsewhere::rows(),
        locks::rows(),
        arithmetic::rows(),
    ]
    .concat();
    rows.sort_by_key(|row| row.id);
    rows
}

/// Each short name, and the source.
pub const SOURCES: &[(&str, &str)] = &[
    (
        "2014",
        "randomascii.wordpress.com, 2014-12-10: the hidden costs of memory allocation",
    ),
    (
        "BOYD",
        "Boyd-Wickizer, Kaashoek, Morris, Zeldovich: Non-scalable locks are dangerous (Linux Symposium 2012)",
    ),
    (
        "BOYD-fit",
        "500 cycles a request in the product form of BOYD's model, fitted to its curves; sections of 400 cycles",
    ),
    (
        "LITL",
        "Guiroux, Lachaize, Quema: LiTL (ATC'16) and the data of its journal version, github.com/multicore-locks/litl",
    ),
    (
        "POLICIES",
        "the table of takes in crates/zero/pool/src/batches.rs: each policy as its paper has it",
    ),
    (
        "ZERO",
        "the page-zeroing article: Slower Memory Zeroing Through Parallelism (Bruce Dawson, randomascii.wordpress.com, 2022-07-11)",
    ),
    ("ZERO-2", "the later version of the same article"),
];

/// The CPU time of its worst case for each of them, in microseconds.
pub(super) const WORST_US: f64 = 100.8;

/// That many pages, zeroed on a computer.
pub(super) fn pool(
    machine: &str,
    workers: usize,
    lock: LockKind,
    batch: Batch,
) -> Result<punctual_zero_sim::PoolResult, Refusal> {
    let job = Job::new(Setting::new(workers, lock, batch), PAGES);
    simulate(&Machine::parse(machine)?, &job)
}

/// The article's worst case: 39 workers, one page at a time, a spin lock, 96 CPUs.
/// Zeroing is all they do.
pub(super) fn worst() -> Result<punctual_zero_sim::PoolResult, Refusal> {
    pool("cascade-lake-96", 39, LockKind::Tas, Batch::One)
}

/// That many pages, zeroed by a version of Windows on the computer it was seen on,
/// with so many of its workers active; all if that is `None`.
pub(super) fn windows(
    name: &str,
    active: Option<usize>,
) -> Result<punctual_zero_sim::PoolResult, Refusal> {
    let system = System::parse(name)?;
    let workers = active.unwrap_or(system.setting.workers);
    let setting = Setting {
        workers,
        ..system.setting
    };
    simulate(&system.machine(), &Job::new(setting, PAGES))
}

/// Whether it is what was expected but for so many percent.
pub(super) fn is_near(got: f64, expected: f64, percent: f64) -> bool {
    (got / expected - 1.0).abs() <= percent / 100.0
}

/// What came of some rows.
pub type Outcomes<'r> = [(&'r Row, Outcome)];

/// How many of them have a verdict of this name.
pub fn count(outcomes: &Outcomes<'_>, name: &str) -> usize {
    let verdicts = outcomes.iter().map(|(_, outcome)| outcome.verdict.name());
    verdicts.filter(|verdict| *verdict == name).count()
}

/// A line for each figure.
pub fn text(outcomes: &Outcomes<'_>) -> String {
    let count = |name| count(outcomes, name);
    let of_their_own = outcomes
        .iter()
        .filter(|(row, o)| row.is_observation() && o.verdict != Verdict::Predicted);
    let title = format!(
        "The simulated pools against what is published: {} of {} figures within their tolerance, {} deviate and are \
         explained, {} nobody knows. {} are observations of their own; the others are the same as another one in other \
         units, arithmetic or predictions. W: Windows as somebody saw it; L: a lock as a paper has it; A: numbers that \
         follow from numbers.",
        count("ok"),
        outcomes.len(),
        count("explained"),
        count("prediction"),
        of_their_own.count(),
    );
    let cells = outcomes.iter().map(|(row, outcome)| {
        let why = match outcome.verdict {
            Verdict::Explained(why) => why,
            _ => outcome.note,
        };
        let got = match why {
            "" => outcome.got.clone(),
            why => format!("{} ({why})", outcome.got),
        };
        vec![
            format!("{} {}", row.id, row.kind.letter()),
            row.input.to_owned(),
            [row.expected, row.tolerance].join(", "),
            got,
            row.source.to_owned(),
            row.same_as.unwrap_or_default().to_owned(),
            outcome.verdict.name().to_owned(),
        ]
    });
    let head = [
        "id",
        "what is done",
        "expected",
        "got",
        "source",
        "same as",
        "verdict",
    ];
    let mut text = punctual_report::table(&title, &head, cells);
    text.push_str("\nSources:\n");
    for (name, source) in SOURCES {
        text.push_str(&format!("  {name}: {source}\n"));
    }
    text
}
