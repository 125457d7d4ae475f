//! `punctual compare`.

pub(crate) mod args;
mod judge;
mod rule;

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use punctual_record::Run;
use punctual_record::compare::{Comparison, Outcome};

use crate::args::command_line;
use crate::files::{self, Target};
use crate::{Done, print};
use args::{CompareArgs, WhichOs};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<Done> {
    if args.files.is_empty() {
        bail!(
            "there is nothing to compare; give one or more Run files, as `punctual bench --json FILE` writes them"
        );
    }
    let runs: Vec<(String, Run)> = args
        .files
        .iter()
        .map(|file| read(file))
        .collect::<Result<_>>()?;
    let runs: Vec<(&str, &Run)> = runs
        .iter()
        .map(|(name, run)| (name.as_str(), run))
        .collect();
    let mut compared = Comparison {
        punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
        ..Comparison::of(&runs)
    };
    if let Some(os) = args.published {
        compared = compared.beside_published(os == WhichOs::All);
    }
    // Whatever is refused is refused before anything is printed or made.
    for rule in &args.fail_if {
        compared.rules.extend(judge::judge(rule, &compared)?);
    }
    let json = args.output.json.as_deref().map(Target::new).transpose()?;
    if let Some(plots) = &args.output.plots {
        files::directory(plots)?;
    }

    let printed = print(&punctual_report::comparison(&compared));
    if let Some(json) = json {
        json.write(&compared.to_json())?;
    }
    if let Some(plots) = &args.output.plots {
        files::write_figures(plots, &punctual_report::comparison_figures(&compared))?;
    }
    printed?;
    let any = |outcome| {
        compared
            .rules
            .iter()
            .any(|judged| judged.outcome == outcome)
    };
    Ok(if any(Outcome::Fails) {
        Done::Differs
    } else if any(Outcome::Inconclusive) {
        Done::Inconclusive
    } else {
        Done::Whole
    })
}

/// Longer than any Run with all its samples; some devices have no end.
const LONGEST: u64 = 1 << 30;

fn read(file: &Path) -> Result<(String, Run)> {
    let name = file.display().to_string();
    let failed = || format!("cannot read {name}");
    let mut text = String::new();
    let opened = std::fs::File::open(file).with_context(failed)?;
    let read = opened.take(LONGEST + 1).read_to_string(&mut text);
    if read.with_context(failed)? as u64 > LONGEST {
        bail!("{name}: this is no Run file: it is longer than 1 GiB");
    }
    let run = Run::from_json(&text).map_err(|why| anyhow!("{name}: {why}"))?;
    Ok((name, run))
}
