//! The outcomes of rules.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use punctual_core::Nanos;
use punctual_record::Punctuality;
use punctual_record::compare::{
    Cell, Comparison, Judgement, Missing, Quantity, Ratio, RuleOutcome,
};
use punctual_report::prose;

use super::rule::{Judged, Limit, Rule};

/// The outcome of a rule in all cells to which it applies.
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
            rule.of.name(),
            match judged_from {
                0 => "",
                _ => " in what the first file and the others have in common",
            }
        );
    }
    Ok(judgements)
}

/// The outcome in one cell; `None` if the cell has nothing to judge.
fn one(rule: &Rule, cell: &Cell, first: Option<&Cell>) -> Option<(RuleOutcome, String)> {
    let metric = match rule.of {
        Judged::Metric(metric) => metric,
        Judged::LaterThan(length) => return later(rule, cell, length),
    };
    let Some(estimate) = cell.known.get(&metric) else {
        return match cell.missing.get(&metric)? {
            Missing::NotMeasured => None,
            why => Some((RuleOutcome::Inconclusive, why.in_words().to_owned())),
        };
    };
    let Limit::Factor(factor) = rule.limit else {
        return Some(beside_limit(rule, cell, estimate.value));
    };
    match estimate.over_first {
        Some(ratio) => Some(of_ratio(rule, factor, &ratio)),
        None => {
            let why = first?.missing.get(&metric)?;
            let why = format!("in the first file, {}", why.in_words());
            Some((RuleOutcome::Inconclusive, why))
        }
    }
}

/// Whether too many deadlines are later than `length`.
fn later(rule: &Rule, cell: &Cell, length: Nanos) -> Option<(RuleOutcome, String)> {
    let punctuality = cell.punctuality.as_ref()?;
    Some(match punctuality.later_than(length.as_ns()) {
        Some(later) => beside_limit(rule, cell, punctuality.share(later)),
        None => {
            let why = "the file has not kept how late each deadline was";
            (RuleOutcome::Inconclusive, why.to_owned())
        }
    })
}

/// A number beside a limit that is no factor.
fn beside_limit(rule: &Rule, cell: &Cell, value: f64) -> (RuleOutcome, String) {
    let due = cell.punctuality.as_ref().map_or(0, Punctuality::due) as f64;
    let (judged, limit) = match rule.limit {
        Limit::Count(count) => ((value * due).round(), count),
        Limit::Value(limit) | Limit::Factor(limit) => (value, limit),
    };
    let written = match rule.of.quantity() {
        Quantity::Deadlines => format!(
            "{:.0} of {due} deadlines ({:.2} %)",
            (value * due).round(),
            value * 100.0
        ),
        quantity => written(quantity, value),
    };
    match rule.beyond.holds(judged, limit) {
        true => (RuleOutcome::Fails, written + &over_limit(judged, limit)),
        false => (RuleOutcome::Passes, written),
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
    let (last, first) = if rule.beyond.is_low {
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
    let mut why = format!("{value:.3} [{low:.3}..{high:.3}] times the first file's");
    if outcome == RuleOutcome::Fails {
        why += &over_limit(value, factor);
    }
    (outcome, why)
}

/// How far beyond its limit a number is: `, 2.05 times the limit`.
fn over_limit(value: f64, limit: f64) -> String {
    match limit > 0.0 {
        true => format!(", {:.3} times the limit", value / limit),
        false => String::new(),
    }
}

fn written(quantity: Quantity, value: f64) -> String {
    match quantity {
        Quantity::Share | Quantity::Deadlines => format!("{:.2} %", value * 100.0),
        Quantity::Rate => format!("{value:.4} GB/s"),
        Quantity::Length => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", Nanos::new(value.abs().round() as u64))
        }
    }
}

/// The names that a rule can select: `pace/{spin, system}, sleep/usleep`.
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
    let each = each.map(|(experiment, subjects)| match subjects.as_slice() {
        [only] => format!("{experiment}/{only}"),
        many => format!("{experiment}/{{{}}}", many.join(", ")),
    });
    match experiments.is_empty() {
        true => "no results".to_owned(),
        false => prose::list(each),
    }
}
