//! `punctual compare`.

pub(crate) mod judge;
pub(crate) mod rule;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use punctual_record::compare::{Cell, Comparison, Metric, Row};
use punctual_record::{Measurement, Run, RunRow, Value};
use punctual_report::{comparison_figures, comparison_sections, comparison_verdict, prose};
use punctual_zero::rows::{GB_PER_CPU_S, WALL_GB_PER_S, ZeroRow};
use punctual_zero::{COMPARED, published};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::files;
use crate::options::Output;
use crate::session::{self, Outputs};
use crate::{Done, print};
use rule::Rule;

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<Done> {
    if args.files.is_empty() {
        bail!(
            "there is nothing to compare; give one or more Run files, as `punctual bench --json FILE` writes them"
        );
    }
    let texts = (args.files.iter()).map(|file| files::run(file));
    let texts: Vec<String> = texts.collect::<Result<_>>()?;
    let runs = args.files.iter().zip(&texts).map(|(file, text)| {
        let name = files::name(file);
        let run = Run::<AnyRow>::from_json(text).map_err(|why| anyhow!("{name}: {why}"))?;
        if run.other.contains_key("emulated") {
            bail!(
                "{name} is of `punctual emulate`, whose waits are those of one program: `punctual report` shows them, and \
                 `emulate --repeat` compares them with native runs"
            );
        }
        Ok((name, run))
    });
    let runs: Vec<(String, Run<AnyRow>)> = runs.collect::<Result<_>>()?;
    let runs = runs.iter().map(|(name, run)| (name.as_str(), run));
    let runs: Vec<(&str, &Run<AnyRow>)> = runs.collect();
    let mut compared = Comparison {
        punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: session::command_line(),
        ..Comparison::of(&runs)
    };
    if let Some(os) = args.published {
        compared = compared.beside_published(os == WhichOs::All, &published::ROWS);
    }
    // Every refusal comes before anything is printed or made.
    have_something_in_common(args.files.len(), &compared)?;
    for rule in &args.fail_if {
        compared.rules.extend(judge::judge(rule, &compared)?);
    }
    let outputs = Outputs::new(&args.output)?;
    let text = args.output.shown(
        Some(comparison_verdict(&compared, &[COMPARED])),
        || punctual_report::comparison(&compared, &[COMPARED]),
        || comparison_sections(&compared, &[COMPARED]),
    );
    let printed = print(&text);
    outputs.put(|| compared.to_json(), || comparison_figures(&compared))?;
    printed?;
    args.output
        .refuse_unknown_tables(|| comparison_sections(&compared, &[COMPARED]))?;
    Ok(Done::by(compared.rules.iter().map(|judged| judged.outcome)))
}

/// Of Runs that share nothing with the first there is no comparison.
fn have_something_in_common(files: usize, compared: &Comparison) -> Result<()> {
    let is_shared = |row: &Row| {
        let [first, others @ ..] = row.cells.as_slice() else {
            return false;
        };
        first.is_some() && others.iter().any(Option::is_some)
    };
    let is_told =
        compared.rows.iter().any(is_shared) || compared.rows.iter().any(is_beside_published);
    if files < 2 || is_told {
        return Ok(());
    }
    let commands = compared.columns.iter().map(|column| match &column.command {
        command if command.is_empty() => format!("{} has no command", column.file),
        command => format!("{} is of `{command}`", column.file),
    });
    let mut commands: Vec<String> = commands.collect();
    // A file with several models has a column for each.
    commands.dedup();
    bail!(
        "these Runs have measured nothing in common: {}; give Runs of the same command",
        prose::list(&commands)
    )
}

/// Whether the first Run stands beside a published figure.
fn is_beside_published(row: &Row) -> bool {
    !row.published.is_empty() && row.cells.first().is_some_and(Option::is_some)
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Set Runs side by side: computers, versions or settings, with confidence intervals.

Takes Runs, the files that `--json` of other commands writes, except emulate. Takes logs of other programs too (punctual \
import): one of cyclictest stands beside a watch. Results with the same experiment, subject and parameters are one row, \
with the ratio to the first file's. With --published, published measurements of the same stand beneath the row; a single \
file is then compared with them alone.";

/// The end of its help, generated from the tables.
pub(crate) fn after() -> String {
    let metrics: Vec<_> = metrics().map(|metric| metric.name).collect();
    format!(
        "\
Rules: [SELECTOR:]METRIC > VALUE, or >=. A rule says which values fail: of GB zeroed, those < or <= VALUE.
       [SELECTOR:]late > LENGTH at most MANY fails if more deadlines than that were later.
  SELECTOR  EXPERIMENT or EXPERIMENT/SUBJECT, with * for any text, and
            @PARAM=VALUE for those with that parameter:
            sleep/usleep@asked=1ms, pace/adaptive-*@rate=60.
            The file has the names; _ns and _hz can be left out
  METRIC    {}
            late: lateness of waits; cpu: share of a CPU; cost_w10: CPU time
            + 10 x lateness (1 ms at most); step, read_cost: of a clock;
            hiccups: waits beyond the threshold of a watch;
            length: of waits or frames in a log;
            gb_per_cpu_s: GB zeroed per second of CPU time
  VALUE     a length (500us), per cent for cpu (5%), GB per second for GB
            zeroed (5GB/s), or a factor of the first file's number (1.2x)
  MANY      deadlines, also of `missed` and `hiccups`: 20, or 1%
`missed` are the deadlines that had passed before their wait began; per cent are of all deadlines. The lateness of a \
watch is of all deadlines, missed ones included. That of bench and of scenarios is of waits, so judge `missed` beside it; \
`late > LENGTH at most MANY` counts the missed ones as later. In the name of a metric late_ can be left out.

A single file is judged itself; of several, all but the first are. A rule with a VALUE judges the number. A rule with a \
factor fails only if the whole confidence interval of the ratio lies beyond the factor. If only a part of the \
interval does, or if a file has fewer than six rounds, the rule is inconclusive. Metrics that a file lacks are not judged; a rule that finds nothing to \
judge is an error.

Exit codes, the first that applies: 2 could not run, 1 a rule fails, 3 a rule is inconclusive, 0 done.

Examples:
  punctual compare laptop.json server.json
  punctual compare linux.json --published
  punctual compare a.json b.json --fail-if 'late_p50 > 1.2x'
  punctual compare a.json b.json --fail-if 'pace/spin@rate=60: late_p99 > 1ms'
  punctual compare a.json b.json --fail-if 'pace/*: late > 1ms at most 1 %'
  punctual compare a.json b.json --fail-if 'zero-pool/mcs: gb_per_cpu_s < 0.9x'
  punctual compare a.json b.json --json comparison.json --plots figures",
        metrics
            .chunks(6)
            .map(|few| few.join(", "))
            .collect::<Vec<_>>()
            .join(",\n            ")
    )
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Runs or logs; all ratios are to the first (- is standard input)
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Exit with 1 if this rule fails, as `late_p99 > 500us` or `sleep/*: late_p50 > 1.2x`; can be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) fail_if: Vec<Rule>,

    /// Add what others have published of the same, of the OS of these files; with =all, of every OS
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "same")]
    pub(crate) published: Option<WhichOs>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Of which OS published figures are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhichOs {
    /// Of the OS of these files
    Same,
    /// Of every OS
    All,
}

/// A row of one of the products.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum AnyRow {
    Wait(Box<Measurement>),
    Zero(Box<ZeroRow>),
}

/// The metrics, in the order in which they are listed to the user.
pub(crate) fn metrics() -> impl Iterator<Item = Metric> {
    let of_zeroing = [GB_PER_CPU_S, WALL_GB_PER_S];
    Metric::OF_WAITS.into_iter().chain(of_zeroing)
}

/// The parts of a Run beside its rows are not compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Nothing {}

impl<'de> Deserialize<'de> for AnyRow {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let row = Value::deserialize(from)?;
        let experiment = row.get("experiment").and_then(Value::as_str);
        let is_of_zeroing = experiment.is_some_and(|experiment| experiment.starts_with("zero-"));
        match is_of_zeroing {
            true => Box::deserialize(row).map(Self::Zero),
            false => Box::deserialize(row).map(Self::Wait),
        }
        .map_err(de::Error::custom)
    }
}

/// Calls a method of whichever row it is.
macro_rules! either {
    ($row:expr, $method:ident) => {
        match $row {
            AnyRow::Wait(row) => row.$method(),
            AnyRow::Zero(row) => row.$method(),
        }
    };
}

impl RunRow for AnyRow {
    type Beside = Nothing;

    fn experiment(&self) -> &str {
        either!(self, experiment)
    }

    fn subject(&self) -> &str {
        either!(self, subject)
    }

    fn subject_anywhere(&self) -> &str {
        either!(self, subject_anywhere)
    }

    fn params(&self) -> BTreeMap<String, Value> {
        either!(self, params)
    }

    fn stands_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Wait(row), Self::Wait(other)) => row.stands_beside(other),
            _ => false,
        }
    }

    fn on(&self) -> Option<&str> {
        either!(self, on)
    }

    /// Rows of the same thing are of one product, as they are of one experiment.
    fn cell(rows: &[&Self]) -> Cell {
        let (mut waits, mut pools) = (Vec::new(), Vec::new());
        for row in rows {
            match row {
                Self::Wait(row) => waits.push(&**row),
                Self::Zero(row) => pools.push(&**row),
            }
        }
        match waits.is_empty() {
            false => Measurement::cell(&waits),
            true => ZeroRow::cell(&pools),
        }
    }
}
