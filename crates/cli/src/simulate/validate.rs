//! `punctual simulate --validate`.

use anyhow::{Result, bail};
use punctual_lab::validation::{self, Evidence};

use crate::progress::Progress;
use crate::{Done, print};

/// The rows of these names; all if none is named.
pub(crate) fn chosen<R>(rows: Vec<R>, ids: &[String], id: fn(&R) -> &str) -> Result<Vec<R>> {
    let is_named = |row: &R| ids.iter().any(|named| named == id(row));
    if let Some(unknown) = ids
        .iter()
        .find(|named| rows.iter().all(|row| id(row) != *named))
    {
        bail!("no row has the name {unknown}; --validate without names lists all");
    }
    Ok(match ids {
        [] => rows,
        _ => rows.into_iter().filter(is_named).collect(),
    })
}

/// Prints a line for each fact; whether one that binds differs is the exit
/// code.
pub(super) fn run(ids: &[String]) -> Result<Done> {
    let rows = chosen(validation::rows()?, ids, |row| &row.id)?;
    let mut progress = Progress::alike(rows.len());
    let outcomes = rows
        .iter()
        .map(|row| {
            progress.step(&row.id);
            Ok((row, row.run()?))
        })
        .collect::<Result<Vec<_>>>()?;
    drop(progress);
    let asserted = || outcomes.iter().filter(|(row, _)| row.kind.is_asserted());
    let differ = asserted().filter(|(_, outcome)| !outcome.holds).count();
    let fitted = asserted().filter(|(row, outcome)| outcome.holds && row.fitted.is_some());
    let title = format!(
        "The models against what is published: {} of {} facts hold; {} of them are fitted to their own figure. Kind: D \
         documented, M measured, I inferred and in agreement with data; P and C are predictions and calibrations, which \
         do not bind; * fitted: something in the model or the program was taken from the figure itself, so that it is \
         no evidence for the rule.",
        asserted().count() - differ,
        asserted().count(),
        fitted.count(),
    );
    let cells = outcomes.iter().map(|(row, outcome)| {
        let got = match row.note.as_str() {
            "" => outcome.got.clone(),
            note => format!("{} ({note})", outcome.got),
        };
        let fitted = if row.fitted.is_some() { "*" } else { "" };
        vec![
            format!("{} {}{fitted}", row.id, row.kind.letter()),
            row.rule.clone(),
            row.input.clone(),
            format!("{}, {}", row.expected, row.tolerance),
            got,
            row.source.clone(),
            verdict(row.kind, outcome.holds).to_owned(),
        ]
    });
    let head = [
        "id", "rule", "input", "expected", "got", "source", "verdict",
    ];
    let mut text = punctual_report::table(&title, &head, cells);
    text.push_str("\nSources:\n");
    for (name, source) in validation::sources()? {
        text.push_str(&format!("  {name}: {source}\n"));
    }
    print(&text)?;
    Ok(Done::of(differ == 0))
}

fn verdict(kind: Evidence, holds: bool) -> &'static str {
    match (kind.is_asserted(), holds) {
        (true, true) => "ok",
        (true, false) => "differs",
        (false, true) => "as predicted",
        (false, false) => "not as predicted",
    }
}
