//! The validation of simulated pools against published figures, one row each.
//!
//! `rows.toml` says of each row what is done, what is expected, within which `bounds`, and from
//! which source; what is done is a function in `rows`.
//!
//! The numbers are those of the list of targets; the ones in between are reserved,
//! or of hardware and kernels, which no simulation reproduces.
//!
//! Nothing that the article says of its worst case, row Z01, went into the simulated computer.
//! Values that were fitted elsewhere, or have no source, weaken these rows:
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
//! | Z60 | the part of a transfer in which a Xeon keeps a line that is asked for | row Z60 itself |
//! | Z66-Z70 | how far reads of one line overlap | rows Z66 to Z70 |
//! | Z78-Z85 | the section, the time away | those of row Z34 |
//! | Z35 | a section of 100 ns, 5 us away | nothing: no source |
//!
//! A row that is another one in other units says of which one.

mod bounds;
mod published_locks;
mod rows;

use std::collections::BTreeMap;

use punctual_program::Refusal;
use punctual_report::tables::table::Table;
use punctual_zero_pool::{Batch, LockKind, Setting};
use punctual_zero_sim::{Bursty, Job, Machine, PoolResult, System, simulate};
use serde::Deserialize;

use crate::published::FIGURES;

use bounds::{Bound, percentage};

pub use published_locks::LockPoint;

/// The file of rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// Each short name of a source, and the source.
    pub sources: BTreeMap<String, String>,
    /// All rows, in the order of their names.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

impl Validation {
    /// The contents of `rows.toml`.
    pub fn load() -> Self {
        let file = toml::from_str(include_str!("rows.toml"));
        let mut file: Self = file.expect("the tests read this file");
        for row in &mut file.rows {
            let (expected, tolerance) = (&mut row.expected, &mut row.tolerance);
            for text in [&mut row.input, expected, tolerance, &mut row.note] {
                *text = bounds::filled(text, &row.bounds);
            }
        }
        file
    }

    /// The figure of the row of this name, and whether it is as expected or explained; `None` if
    /// there is no such row.
    pub fn finding(&self, id: &str) -> Option<Result<(String, bool), Refusal>> {
        let row = self.rows.iter().find(|row| row.id == id)?;
        Some(row.run().map(|finding| {
            let holds = finding.verdict != Verdict::Deviates;
            (finding.got, holds)
        }))
    }
}

/// One figure that the simulation is held against.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name: `Z01`.
    pub id: String,
    /// The kind of evidence.
    pub evidence: Evidence,
    /// Where the figure comes from, with the short names of [`Validation::sources`].
    pub source: String,
    /// The input.
    pub input: String,
    /// The result according to the source, with places for the bounds: `{near}` is that of the
    /// first, `{least1}` of the second.
    pub expected: String,
    /// How far from that is still the same, in the same way; else the percentage.
    #[serde(default = "percentage")]
    pub tolerance: String,
    /// The bounds of each resulting number; none for a prediction.
    #[serde(default)]
    bounds: Vec<Bound>,
    /// The row that is the same observation, in other units.
    pub same_as: Option<String>,
    /// Whether the right value is unknown.
    #[serde(default)]
    pub prediction: bool,
    /// A published contest for a lock; the row is held against the simulation of that.
    pub contest: Option<LockPoint>,
    /// Why it is known to be missed; where it is met after all, it holds.
    pub deviates: Option<String>,
    /// How it was made; may be empty.
    #[serde(default)]
    pub note: String,
}

/// The kinds of evidence of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Windows, as observed by others.
    Windows,
    /// A lock, as a paper has it.
    Lock,
    /// Numbers that follow from numbers.
    Arithmetic,
}

impl Evidence {
    /// The letter that stands for it in a table.
    pub const fn letter(self) -> char {
        match self {
            Self::Windows => 'W',
            Self::Lock => 'L',
            Self::Arithmetic => 'A',
        }
    }
}

/// The result of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The value that came out.
    pub got: String,
    /// Whether that is what was expected.
    pub verdict: Verdict,
}

/// Whether what came out is what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the tolerance.
    Holds,
    /// Not within the tolerance, and the row says why.
    Explained,
    /// Not within the tolerance.
    Deviates,
    /// The right value is not known.
    Predicted,
}

impl Verdict {
    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "ok",
            Self::Explained => "explained",
            Self::Deviates => "differs",
            Self::Predicted => "prediction",
        }
    }
}

/// The result, and the numbers of it that the row has bounds for.
type Seen = Result<(String, Vec<f64>), Refusal>;

impl Row {
    /// Does it. Always the same.
    ///
    /// # Errors
    /// The simulator refuses it.
    pub fn run(&self) -> Result<Finding, Refusal> {
        let (got, numbers) = match &self.contest {
            Some(point) => point.run()?,
            None => self.what_is_done()()?,
        };
        assert_eq!(numbers.len(), self.bounds.len(), "{}", self.id);
        let mut bounds = self.bounds.iter().zip(numbers);
        let verdict = match bounds.all(|(bound, number)| bound.holds(number)) {
            _ if self.prediction => Verdict::Predicted,
            true => Verdict::Holds,
            false if self.deviates.is_some() => Verdict::Explained,
            false => Verdict::Deviates,
        };
        Ok(Finding { got, verdict })
    }

    fn what_is_done(&self) -> fn() -> Seen {
        match self.id.as_str() {
            "Z01" => rows::cpu_seconds,
            "Z02" => rows::gib_per_cpu_s,
            "Z03" => rows::us_per_page,
            "Z04" => rows::first_trace,
            "Z05" => rows::spinning,
            "Z06" => rows::share_of_system,
            "Z07" => rows::unexpected_cpus,
            "Z08" => rows::share_of_faults,
            "Z09" => rows::zeropage_test,
            "Z10" => rows::system_to_test,
            "Z11" => rows::against_serial,
            "Z12" => rows::against_no_waiting,
            "Z13" => rows::windows_11,
            "Z14" => rows::server_2022,
            "Z15" => rows::windows_10_on_128,
            "Z16" => rows::build,
            "Z17" => rows::xeon_phi,
            "Z18" => rows::desktop,
            "Z20" => rows::memory_bandwidth,
            "Z21" => rows::page_in_cache,
            "Z22" => rows::bytes_of_the_test,
            "Z23" => rows::rule_of_thumb,
            "Z24" => rows::hand_off,
            "Z25" => rows::cost_of_fresh_memory,
            "Z26" => rows::chain_0_4_percent,
            "Z28" => rows::chain_3_2_percent,
            "Z30" => rows::chain_long_sections,
            "Z31" => rows::sharper_than_the_chain,
            "Z32" => rows::mempop,
            "Z34" => rows::radiosity,
            "Z35" => rows::sleepers,
            "Z36" => rows::queued_is_flat,
            "Z37" => rows::transfer_of_the_worst_case,
            "Z55" => rows::takes,
            "Z56" => rows::half_of_the_rest,
            other => unreachable!("the tests run every row, and {other} is none of them"),
        }
    }

    /// Whether it is an observation of its own: not another row in other units, no
    /// arithmetic, and no measurement that a figure was fitted to.
    pub fn is_observation(&self) -> bool {
        let is_fitted = self.contest.as_ref().is_some_and(|point| point.fitted);
        !is_fitted && self.same_as.is_none() && self.evidence != Evidence::Arithmetic
    }
}

/// The bursts in which all threads zero what the two processes of the article's test free.
///
/// # Errors
/// None: what it simulates is known.
pub fn bursts_of_the_test() -> Result<Bursty, Refusal> {
    rows::test()
}

/// The pages of the article's worst case.
pub(super) fn pages() -> u64 {
    FIGURES.test.pages()
}

pub(super) fn pool(
    machine: &str,
    workers: usize,
    lock: LockKind,
    batch: Batch,
) -> Result<PoolResult, Refusal> {
    let job = Job::new(Setting::new(workers, lock, batch), pages());
    simulate(&Machine::parse(machine)?, &job)
}

/// The article's worst case: 39 workers, one page at a time, a spin lock, 96 CPUs.
/// Zeroing is all they do.
pub(super) fn worst() -> Result<PoolResult, Refusal> {
    pool("cascade-lake-96", 39, LockKind::Tas, Batch::One)
}

/// A version of Windows on the computer it was seen on, with so many of its workers active;
/// all if that is `None`.
pub(super) fn system(name: &str, active: Option<usize>) -> Result<(Machine, Setting), Refusal> {
    let system = System::parse(name)?;
    let workers = active.unwrap_or(system.setting.workers);
    let setting = Setting {
        workers,
        ..system.setting
    };
    Ok((system.machine(), setting))
}

/// That many pages, zeroed by it.
pub(super) fn windows(name: &str, active: Option<usize>) -> Result<PoolResult, Refusal> {
    let (machine, setting) = system(name, active)?;
    simulate(&machine, &Job::new(setting, pages()))
}

/// The results of some rows.
pub type Findings<'r> = [(&'r Row, Finding)];

/// How many of them have a verdict of this name.
pub fn count(findings: &Findings<'_>, name: &str) -> usize {
    let verdicts = findings.iter().map(|(_, finding)| finding.verdict.name());
    verdicts.filter(|verdict| *verdict == name).count()
}

/// A line for each figure.
pub fn text(findings: &Findings<'_>, sources: &BTreeMap<String, String>) -> String {
    let count = |name| count(findings, name);
    let of_their_own = findings
        .iter()
        .filter(|(row, finding)| row.is_observation() && finding.verdict != Verdict::Predicted);
    let title = format!(
        "The simulated pools against what is published: {} of {} figures within their tolerance, {} deviate and are \
         explained, the right value of {} is not known. {} are observations of their own; the others are the same as another one in other \
         units, arithmetic, fitted or predictions. W: Windows as observed by others; L: a lock as a paper has it; A: numbers that \
         follow from numbers.",
        count("ok"),
        findings.len(),
        count("explained"),
        count("prediction"),
        of_their_own.count(),
    );
    let got = |(row, finding): &(&Row, Finding)| {
        let why = match finding.verdict {
            Verdict::Explained => row.deviates.as_deref().unwrap_or_default(),
            _ => &row.note,
        };
        match why {
            "" => finding.got.clone(),
            why => format!("{} ({why})", finding.got),
        }
    };
    let mut text = Table::new(title, findings)
        .column("id", |(row, _)| {
            format!("{} {}", row.id, row.evidence.letter())
        })
        .column("what is done", |(row, _)| row.input.as_str())
        .column("expected", |(row, _)| {
            format!("{}, {}", row.expected, row.tolerance)
        })
        .column("got", got)
        .column("source", |(row, _)| row.source.as_str())
        .column("same as", |(row, _)| {
            row.same_as.clone().unwrap_or_default()
        })
        .column("verdict", |(_, finding)| finding.verdict.name())
        .names(7)
        .within(punctual_report::tables::width())
        .section()
        .text;
    text.push_str("\nSources:\n");
    for (name, source) in sources {
        text.push_str(&format!("  {name}: {source}\n"));
    }
    text
}
