//! `punctual compare`.

pub(crate) mod any_row;
pub(crate) mod args;
pub(crate) mod judge;
pub(crate) mod rule;

use anyhow::{Result, anyhow, bail};
use punctual_record::Run;
use punctual_record::{compare::Comparison, compare::RuleOutcome};
use punctual_report::{comparison_sections, comparison_verdict};

use punctual_zero::{COMPARED, published};

use crate::files::{self, Target};
use crate::{Done, print, session};
use any_row::AnyRow;
use args::{CompareArgs, WhichOs};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> Result<Done> {
    if args.files.is_empty() {
        bail!(
            "there is nothing to compare; give one or more Run files, as `punctual bench --json FILE` writes them"
        );
    }
    let texts = args
        .files
        .iter()
        .map(|file| files::text(file, files::LONGEST));
    let texts: Vec<String> = texts.collect::<Result<_>>()?;
    let runs = args.files.iter().zip(&texts).map(|(file, text)| {
        let name = files::name(file);
        let run = Run::<AnyRow>::from_json(text).map_err(|why| anyhow!("{name}: {why}"))?;
        Ok((name, run))
    });
    let runs: Vec<(String, Run<AnyRow>)> = runs.collect::<Result<_>>()?;
    let runs: Vec<(&str, &Run<AnyRow>)> = runs
        .iter()
        .map(|(name, run)| (name.as_str(), run))
        .collect();
    let mut compared = Comparison {
        punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: session::command_line(),
        ..Comparison::of(&runs)
    };
    if let Some(os) = args.published {
        compared = compared.beside_published(os == WhichOs::All, published::ROWS);
    }
    // Whatever is refused is refused before anything is printed or made.
    for rule in &args.fail_if {
        compared.rules.extend(judge::judge(rule, &compared)?);
    }
    let json = args.output.json.as_deref().map(Target::new).transpose()?;
    if let Some(plots) = &args.output.plots {
        files::directory(plots)?;
    }

    let text = args.shown.shown(
        Some(comparison_verdict(&compared, &[COMPARED])),
        || punctual_report::comparison(&compared, &[COMPARED]),
        || comparison_sections(&compared, &[COMPARED]),
    );
    let printed = print(&text);
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
    Ok(if any(RuleOutcome::Fails) {
        Done::Differs
    } else if any(RuleOutcome::Inconclusive) {
        Done::Inconclusive
    } else {
        Done::Whole
    })
}
