//! Holds a comparison against a rule.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use punctual_core::Nanos;
use punctual_record::{
    compare::Cell, compare::Comparison, compare::Estimate, compare::Judgement, compare::Metric,
    compare::Missing, compare::Quantity, compare::Ratio, compare::RuleOutcome,
};

use super::rule::{Limit, Rule};

/// What comes of a rule wherever it applies.
///
/// # Errors
/// It applies nowhere.
pub(crate) fn judge(rule: &Rule, compared: &Comparison) -> Result<Vec<Judgement>> {
    if !compared.rows.iter().any(|row| rule.selects(row)) {
        bail!(
            "rule `{rule}` selects nothing; the runs have {}",
            names(compared)
        );
    }
    let judged_from = match (rule.limit, compared.columns.len()) {
        (Limit::Factor(_), 1) => {
            bail!("rule `{rule}` is about a factor of the first file's number; give a second file")
        }
        (_, 1) => 0,
        _ => 1,
    };
    let mut judgements = Vec::new();
    for (place, row) in compared.rows.iter().enumerate() {
        if !rule.selects(row) {
            continue;
        }
        let first = row.cells.first().and_then(Option::as_ref);
        for (column, cell) in compared.columns.iter().zip(&row.cells).skip(judged_from) {
            let Some(cell) = cell else { continue };
            if let Some((outcome, why)) = one(rule, cell, first) {
                judgements.push(Judgement {
                    rule: rule.to_string(),
                    run: column.label.clone(),
                    row: place,
                    outcome,
                    why,
                });
            }
        }
    }
    if judgements.is_empty() {
        bail!(
            "rule `{rule}` finds no {} to judge{}",
            rule.metric.name(),
            match judged_from {
                0 => "",
                _ => " in what the first file and the others have in common",
            }
        );
    }
    Ok(judgements)
}

/// What comes of it in one cell; nothing where there is nothing to judge.
fn one(rule: &Rule, cell: &Cell, first: Option<&Cell>) -> Option<(RuleOutcome, String)> {
    let Some(estimate) = cell.known.get(&rule.metric) else {
        return match cell.missing.get(&rule.metric)? {
            Missing::NotMeasured => None,
            why => Some((RuleOutcome::Inconclusive, why.in_words().to_owned())),
        };
    };
    match rule.limit {
        Limit::Value(limit) => {
            let outcome = if rule.beyond.holds(estimate.value, limit) {
                RuleOutcome::Fails
            } else {
                RuleOutcome::Passes
            };
            Some((outcome, written(rule.metric, estimate)))
        }
        Limit::Factor(factor) => match estimate.over_first {
            Some(ratio) => Some(of_ratio(rule, factor, &ratio)),
            None => {
                let why = first?.missing.get(&rule.metric)?;
                let why = format!("in the first file, {}", why.in_words());
                Some((RuleOutcome::Inconclusive, why))
            }
        },
    }
}

fn of_ratio(rule: &Rule, factor: f64, ratio: &Ratio) -> (RuleOutcome, String) {
    let Some(value) = ratio.value else {
        let why = "no ratio, as a wait was early or took no time".to_owned();
        return (RuleOutcome::Inconclusive, why);
    };
    let Some(interval) = ratio.interval else {
        let why = match ratio.verdict {
            Some(_) => "without an interval",
            None => "not judged: that takes six rounds of each, none of them too short for it",
        };
        let why = format!("{value:.3} times the first file's, {why}");
        return (RuleOutcome::Inconclusive, why);
    };
    // The end that is beyond last, and the one that is beyond first.
    let (last, first) = if rule.beyond.is_low() {
        (interval.high, interval.low)
    } else {
        (interval.low, interval.high)
    };
    let outcome = if rule.beyond.holds(last, factor) {
        RuleOutcome::Fails
    } else if rule.beyond.holds(first, factor) {
        RuleOutcome::Inconclusive
    } else {
        RuleOutcome::Passes
    };
    let (low, high) = (interval.low, interval.high);
    let why = format!("{value:.3} [{low:.3}..{high:.3}] times the first file's");
    (outcome, why)
}

fn written(metric: Metric, estimate: &Estimate) -> String {
    let value = estimate.value;
    match metric.quantity() {
        Quantity::Share => format!("{:.2} %", value * 100.0),
        Quantity::Rate => format!("{value:.4} GB/s"),
        Quantity::Length => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", Nanos::new(value.abs().round() as u64))
        }
    }
}

/// What a rule can select: `pace/{spin, system}, sleep/usleep`.
fn names(compared: &Comparison) -> String {
    let mut experiments: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in &compared.rows {
        let subjects = experiments.entry(&row.experiment).or_default();
        for subject in &row.subjects {
            if !subjects.contains(&subject.as_str()) {
                subjects.push(subject);
            }
        }
    }
    let each = experiments.iter();
    let each: Vec<String> = each
        .map(|(experiment, subjects)| match subjects.as_slice() {
            [only] => format!("{experiment}/{only}"),
            many => format!("{experiment}/{{{}}}", many.join(", ")),
        })
        .collect();
    match each.as_slice() {
        [] => "no results".to_owned(),
        each => each.join(", "),
    }
}
