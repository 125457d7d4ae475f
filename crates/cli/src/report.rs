//! `punctual report`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use punctual_record::compare::Comparison;
use punctual_record::{Measurement, Run, visible};
use punctual_report::Page;
use punctual_zero::COMPARED;
use punctual_zero::rows::ZeroRow;

use crate::compare::AnyRow;
use crate::files::{self, Target};
use crate::{Done, say, stop};

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Write one HTML file with answers, figures and tables, to mail or to keep.

Takes Runs, the files that `--json` of every command but compare writes, and logs of other programs (punctual import); several are \
also set side by side. Without any, it first measures a quick set of everything on this computer, in about a minute, and \
simulates four versions of Windows. The file opens without a network, and can be read without scripts. The same Runs \
give the same bytes. Names of other processes and of folders are left out.";

/// And ends with.
pub(crate) const AFTER: &str = "\
Exit codes: 0 done, 2 could not run, 3 ended by Ctrl-C (what was measured is kept).

Examples:
  punctual report --open
  punctual report bench.json doctor.json --output loop.html
  punctual report laptop.json server.json";

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Runs or logs (- is standard input) [default: a quick set of everything is measured]
    #[arg(value_name = "RUN")]
    files: Vec<PathBuf>,

    /// The file to write or to replace (- is standard output)
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "punctual-report.html"
    )]
    output: PathBuf,

    /// Open it in the browser
    #[arg(long)]
    open: bool,
}

/// The measurements where no Runs are given.
const SET: [&str; 7] = [
    "doctor --quick",
    "bench --quick",
    "measure --quick",
    "bench article --quick --strategy system,precise,timer,adaptive-balanced",
    "zero run --quick",
    "zero probe --quick",
    "simulate lowest-request-wins --on windows-7 --on windows-10-1909 --on windows-10-2004 --on windows-11",
];

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<Done> {
    let is_printed = args.output == Path::new(files::STANDARD);
    if args.open && is_printed {
        bail!("what is printed cannot be opened; leave out --open, or name a file with --output");
    }
    // The output is opened before anything is measured; the files are read first, so that
    // the page replaces none of them.
    let (output, page, done) = match args.files.is_empty() {
        true => {
            let output = Target::new(&args.output)?;
            let (page, done) = measured()?;
            (output, page, done)
        }
        false => {
            let page = of_files(&args.files)?;
            (Target::new(&args.output)?, page, Done::Whole)
        }
    };
    output.write(&page.html())?;
    if !is_printed {
        say!("wrote {}", args.output.display());
    }
    if args.open {
        // Whole, as its name alone could be an address of another kind, or an option.
        let page = std::path::absolute(&args.output);
        open::that_detached(page.as_ref().unwrap_or(&args.output)).with_context(|| {
            format!(
                "cannot open {} in a browser; open it by hand",
                args.output.display()
            )
        })?;
    }
    Ok(done)
}

fn of_files(paths: &[PathBuf]) -> Result<Page> {
    let names: Vec<String> = paths.iter().map(|path| files::name(path)).collect();
    let texts = paths.iter().map(|path| files::run(path));
    let texts: Vec<String> = texts.collect::<Result<_>>()?;
    // The folders of the files are private.
    let shown = paths.iter().map(|path| path.file_name());
    let shown = shown.map(|name| visible(&name.unwrap_or_default().to_string_lossy()).into_owned());
    let shown: Vec<String> = shown.collect();
    let mut page = Page::new(&format!("punctual report {}", shown.join(" ")));
    let mut all = Vec::new();
    for (name, text) in names.iter().zip(&texts) {
        let run = add(&mut page, text).map_err(|why| anyhow!("{name}: {why}"))?;
        all.push(run);
    }
    let all = shown.iter().map(String::as_str).zip(&all);
    let all: Vec<(&str, &Run<AnyRow>)> = all.collect();
    let mut compared = Comparison::of(&all);
    // A row of only one Run is shown in its own section.
    compared
        .rows
        .retain(|row| row.cells.iter().flatten().count() > 1);
    if !compared.rows.is_empty() {
        page.compare(&compared, &[COMPARED]);
    }
    Ok(page)
}

/// Adds the Run in a file, whichever product's it is.
fn add(page: &mut Page, text: &str) -> Result<Run<AnyRow>, String> {
    let any = Run::<AnyRow>::from_json(text)?;
    let is_of_zeroing = match any.results.first() {
        Some(row) => matches!(row, AnyRow::Zero(_)),
        None => any.command.contains(" zero "),
    };
    match is_of_zeroing {
        true => page.add(&Run::<ZeroRow>::from_json(text)?),
        false => page.add(&Run::<Measurement>::from_json(text)?),
    }
    Ok(any)
}

/// A page of what was measured now, each command in a process of its own: this command again.
fn measured() -> Result<(Page, Done)> {
    let stop = stop::on_ctrl_c()?;
    let this = std::env::current_exe().context("cannot find the file of this command")?;
    let folder = tempfile::tempdir().context("cannot make a folder for the Runs")?;
    let run = folder.path().join("run.json");
    let mut page = Page::new("punctual report");
    let mut any = false;
    for line in SET {
        if stop.is_requested() {
            break;
        }
        say!("report: punctual {line}");
        let ended = Command::new(&this)
            .args(line.split(' '))
            .arg("--json")
            .arg(&run)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("cannot start {}", this.display()))?;
        match std::fs::read_to_string(&run) {
            Ok(text) => {
                match add(&mut page, &text) {
                    Ok(_) => any = true,
                    // Measurements of the others are not lost for it.
                    Err(why) => page.note(&format!("punctual {line}: {why}.")),
                }
                std::fs::remove_file(&run)
                    .with_context(|| format!("cannot remove {}", run.display()))?;
            }
            // It has said why.
            Err(_) if stop.is_requested() => break,
            Err(_) => page.note(&format!("punctual {line} could not run ({ended}).")),
        }
    }
    if !any {
        bail!("nothing was measured, so there is nothing to report");
    }
    Ok((page, Done::unless(stop.is_requested())))
}
