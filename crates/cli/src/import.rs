//! `punctual import`: logs of other programs as Runs.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use punctual_core::Nanos;
use punctual_import::{Hints, Unit};
use punctual_record::{Imported, Run};

use crate::Done;
use crate::files;
use crate::options::Output;
use crate::session::Outputs;
use crate::values::{length, one_of};

/// The beginning of its help.
pub(crate) const ABOUT: &str = "\
Read logs of other programs, and say how late or how long the waits in them are.

The format is recognised by what a file contains: cyclictest (histogram, summary, -v, JSON), MangoHud and PresentMon CSV, \
strace -f -ttt -T, perf script of context switches, HdrHistogram logs (jHiccup, wrk2), and CSV with columns such as \
asked_us,got_us. report, compare and --on recorded,file=LOG read such files too; --json writes the Run that they use. The answer \
warns of what the log does not say, such as its unit. Percentiles beyond its histogram are left out. punctual trace \
--from reads strace too, and perf script of tracepoints, which says why waits are late.";

/// And ends with.
pub(crate) const AFTER: &str = "\
Columns: asked and got, or late, or frame, with the unit behind: asked_us,got_us. docs/importing.md of the repository \
says what each format lacks.

Exit codes: 0 done, 2 could not run.

Examples:
  punctual import cyclictest.txt
  punctual import trace.txt --json run.json
  punctual import waits.csv --columns asked_ms,got_ms
  punctual compare cyclictest.txt watch.json
  punctual bench --on recorded,file=trace.txt,subject=poll";

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The logs; several become one Run (- is standard input)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    known: Known,

    #[command(flatten)]
    output: Output,
}

/// The user's knowledge of a log, which the log does not state itself.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Known {
    /// The unit of numbers that have none
    #[arg(long, value_name = "UNIT", value_parser = one_of(Unit::ALL.map(|unit| (unit.name(), unit))))]
    unit: Option<Unit>,

    /// The names of the columns of a CSV file, such as asked_us,got_us or late_ns or frame_ms
    #[arg(long, value_name = "NAMES")]
    columns: Option<String>,

    /// How far deadlines are apart, where the log does not say it
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    period: Option<Nanos>,
}

impl Known {
    /// For the parsers.
    pub(crate) fn hints(&self) -> Hints {
        Hints {
            unit: self.unit,
            columns: self.columns.clone(),
            period_ns: self.period.map(Nanos::as_ns),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &ImportArgs) -> Result<Done> {
    let hints = args.known.hints();
    let mut runs = Vec::new();
    for file in &args.files {
        let name = files::name(file);
        let bytes = files::bytes(file, files::LONGEST)?;
        let run = punctual_import::read(&bytes, &hints).map_err(|why| anyhow!("{name}: {why}"))?;
        runs.push((name, run));
    }
    let run = together(runs);
    Outputs::new(&args.output)?.answer(&run)
}

/// Several logs as one Run, whose subjects have the names of the files before them.
fn together(mut runs: Vec<(String, Run)>) -> Run {
    let mut first = Run::default();
    if runs.len() == 1 {
        return runs.pop().map_or(first, |(_, run)| run);
    }
    let mut all = Imported::default();
    for (i, (name, run)) in runs.into_iter().enumerate() {
        let Run {
            results,
            beside,
            warnings,
            ..
        } = &run;
        let imported = beside.imported.clone().unwrap_or_default();
        if !all.format.contains(&imported.format) {
            let and = if i > 0 { ", " } else { "" };
            all.format += &format!("{and}{}", imported.format);
        }
        all.untold
            .extend(imported.untold.iter().map(|what| format!("{name}: {what}")));
        let mut results = results.clone();
        for row in &mut results {
            row.subject = format!("{name}: {}", row.subject);
        }
        let warnings: Vec<_> = warnings
            .iter()
            .cloned()
            .map(|mut warning| {
                warning.what = format!("{name}: {}", warning.what);
                warning
            })
            .collect();
        match i {
            0 => {
                first = Run {
                    results,
                    warnings,
                    ..run
                }
            }
            _ => {
                first.results.extend(results);
                first.warnings.extend(warnings);
            }
        }
    }
    first.beside.imported = Some(all);
    first
}
