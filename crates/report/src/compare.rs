//! Several runs side by side, as plain text.

use punctual_record::compare::{Column, Comparison, Judgement, RuleOutcome};

use crate::tables::{Compared, Passage};
use crate::{prose, tables};

/// The report of a comparison: the runs, a table or two per experiment with
/// what was published of the same, the rules of the user, and last the
/// warnings of the runs. `more` are the tables of other products than waiting.
///
/// The layout does not depend on a terminal. It has no colour, and no line ends
/// in a space.
pub fn comparison(compared: &Comparison, more: &[Compared]) -> String {
    Passage::joined(&comparison_sections(compared, more))
}

/// The same, piece by piece.
pub fn comparison_sections(compared: &Comparison, more: &[Compared]) -> Vec<Passage> {
    let mut sections = vec![Passage::from(header(compared))];
    sections.extend(tables::comparison(compared, more));
    if compared.rows.is_empty() {
        sections.push("These runs have no results.\n".to_owned().into());
    }
    let last = [
        tables::sources(compared),
        rules(compared),
        warnings(&compared.columns),
    ];
    sections.extend(last.into_iter().flatten().map(Passage::from));
    sections
}

fn header(compared: &Comparison) -> String {
    let mut text = String::new();
    for column in &compared.columns {
        let lead = format!("{:<4}", column.label);
        let indent = " ".repeat(lead.len());
        text += &prose::listed(&lead, &format!("{}: {}", column.file, column.machine));
        let mut lines = vec![
            column.timer_rule.clone(),
            match &column.started_at {
                Some(time) => format!("{time}, {}", column.command),
                None => column.command.clone(),
            },
        ];
        lines.retain(|line| !line.is_empty());
        for line in &lines {
            text += &prose::indented(&indent, line);
        }
    }
    text
}

fn rules(compared: &Comparison) -> Option<String> {
    if compared.rules.is_empty() {
        return None;
    }
    let mut text = "Rules\n".to_owned();
    for of_rule in compared.rules.chunk_by(|a, b| a.rule == b.rule) {
        let count = |outcome| of_rule.iter().filter(|j| j.outcome == outcome).count();
        let [passes, fails, unclear] = [
            RuleOutcome::Passes,
            RuleOutcome::Fails,
            RuleOutcome::Inconclusive,
        ]
        .map(count);
        let mut counts = format!("{passes} of {} pass", of_rule.len());
        if fails > 0 {
            counts += &format!(", {fails} fail");
        }
        if unclear > 0 {
            counts += &format!(", {unclear} inconclusive");
        }
        text += &prose::paragraph(&format!("`{}`: {counts}", of_rule[0].rule));
        let others = of_rule.iter().filter(|j| j.outcome != RuleOutcome::Passes);
        for judgement in others {
            let lead = format!("  {:<14}", judgement.outcome.name());
            text += &prose::indented(&lead, &in_words(compared, judgement));
        }
    }
    Some(text)
}

fn in_words(compared: &Comparison, judgement: &Judgement) -> String {
    let row = compared.rows.get(judgement.row);
    let row = row.map_or_else(String::new, |row| {
        format!("{} {}", row.experiment, tables::label_of(row, &[]))
    });
    let Judgement { run, why, .. } = judgement;
    format!("{run}, {row}: {why}")
}

fn warnings(columns: &[Column]) -> Option<String> {
    let mut text = String::new();
    for column in columns {
        let partial = column
            .interrupted
            .then_some("The run was ended before its end: the results are partial.");
        for warning in partial
            .into_iter()
            .chain(column.warnings.iter().map(String::as_str))
        {
            text += &prose::indented(&format!("{:<4}", column.label), warning);
        }
    }
    (!text.is_empty()).then(|| format!("Warnings of the runs\n{text}"))
}
