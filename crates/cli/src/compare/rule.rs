//! Rules for CI, `sleep/usleep@asked=1ms: late_p50 > 1.2x` or `gb_per_cpu_s < 0.8x`, and what comes of
//! them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use punctual_core::Nanos;
use punctual_record::Value;
use punctual_record::compare::{
    Cell, Comparison, Estimate, Judgement, Metric, Missing, Quantity, Ratio, Row, RuleOutcome,
};
use punctual_report::prose;

use super::metrics;

/// What a number must not be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    /// In the words of the user.
    text: String,
    selector: Selector,
    pub(crate) metric: Metric,
    beyond: Beyond,
    pub(crate) limit: Limit,
}

/// Where a rule applies.
#[derive(Clone, Debug, PartialEq)]
struct Selector {
    experiment: String,
    subject: String,
    params: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Beyond {
    /// `<` or `<=`: it forbids what is low.
    is_low: bool,
    /// `>=` or `<=`: it forbids the limit too.
    with_limit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Nanoseconds, a share, or GB per second.
    Value(f64),
    /// So many times the first run's number.
    Factor(f64),
}

impl Beyond {
    fn holds(self, value: f64, limit: f64) -> bool {
        let is_beyond = match self.is_low {
            true => value < limit,
            false => value > limit,
        };
        is_beyond || self.with_limit && value == limit
    }
}

impl Rule {
    /// Whether it applies to a row.
    pub(super) fn selects(&self, row: &Row) -> bool {
        let Selector {
            experiment,
            subject,
            params,
        } = &self.selector;
        matches(experiment, &row.experiment)
            && row.subjects.iter().any(|name| matches(subject, name))
            && params.iter().all(|(key, value)| has_param(row, key, value))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

const GRAMMAR: &str =
    "a rule is [SELECTOR:]METRIC > VALUE, as `sleep/*: late_p50 > 1.2x`, or < where more is better";

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sign = text
            .rfind(['<', '>'])
            .ok_or_else(|| format!("it has no `>`, `>=`, `<` or `<=`; {GRAMMAR}"))?;
        let (what, value) = text.split_at(sign);
        let is_low = value.starts_with('<');
        let (with_limit, value) = match value[1..].strip_prefix('=') {
            Some(value) => (true, value),
            None => (false, &value[1..]),
        };
        // Subjects have colons, too: `system:method=timerfd`.
        let (selector, metric) = what.rsplit_once(':').unwrap_or(("*", what));
        let metric = metric_of(metric.trim())?;
        if metric.more_is_better != is_low {
            let (which, signs) = match is_low {
                true => ("less", "`>` or `>=`"),
                false => ("more", "`<` or `<=`"),
            };
            return Err(format!(
                "{which} {} is better, and a rule says what fails; give {signs}",
                metric.name
            ));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            selector: selector.trim().parse()?,
            metric,
            beyond: Beyond { is_low, with_limit },
            limit: limit_of(metric, value.trim())?,
        })
    }
}

fn metric_of(name: &str) -> Result<Metric, String> {
    let is_meant = |metric: &Metric| {
        let full = metric.name;
        full == name || full.strip_prefix("late_") == Some(name)
    };
    let metric = metrics().find(is_meant);
    metric.ok_or_else(|| {
        let names = prose::list(metrics().map(|metric| metric.name));
        format!("there is no metric `{name}`; the metrics are {names} (without late_ too)")
    })
}

fn limit_of(metric: Metric, text: &str) -> Result<Limit, String> {
    let number = |text: &str| {
        let number: Option<f64> = text.trim().parse().ok();
        number.filter(|number| number.is_finite() && *number >= 0.0)
    };
    if let Some(factor) = text.strip_suffix('x') {
        if !metric.has_intervals {
            return Err(format!(
                "{} has no interval by which a factor could be judged; give a length",
                metric.name
            ));
        }
        let factor = number(factor).filter(|factor| *factor > 0.0);
        return factor
            .map(Limit::Factor)
            .ok_or_else(|| format!("`{text}` is no factor above zero, such as 1.2x"));
    }
    let name = metric.name;
    match metric.quantity {
        Quantity::Share => {
            let percent = text.strip_suffix('%').and_then(number);
            percent.map(|percent| percent / 100.0).ok_or_else(|| {
                format!("`{text}` is no limit for CPU time; give per cent (5%) or a factor (1.2x)")
            })
        }
        Quantity::Rate => text.strip_suffix("GB/s").and_then(number).ok_or_else(|| {
            format!(
                "`{text}` is no limit for {name}; give GB per second (5GB/s) or a factor (0.8x)"
            )
        }),
        Quantity::Length => {
            let length: Result<Nanos, _> = text.parse();
            length.map(|length| length.as_ns() as f64).map_err(|_| {
                format!(
                    "`{text}` is no limit; give a length with its unit (500us) or a factor (1.2x)"
                )
            })
        }
    }
    .map(Limit::Value)
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('@');
        let path = parts.next().unwrap_or_default().trim();
        let (experiment, subject) = path.split_once('/').unwrap_or((path, "*"));
        if experiment.is_empty() || subject.is_empty() {
            return Err(format!(
                "`{text}` selects nothing; give EXPERIMENT or EXPERIMENT/SUBJECT, and * for any"
            ));
        }
        let param = |param: &str| match param.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                Ok((key.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(format!("`@{param}` has no PARAM=VALUE, such as @asked=1ms")),
        };
        Ok(Self {
            experiment: experiment.to_owned(),
            subject: subject.to_owned(),
            params: parts.map(param).collect::<Result<_, _>>()?,
        })
    }
}

/// Whether `text` is what `pattern` says, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(tail)
}

/// Whether a row has a parameter, whose unit need not be named.
fn has_param(row: &Row, key: &str, value: &str) -> bool {
    let mut params = row.params.iter().filter(|(name, _)| {
        let unit = name.strip_prefix(key);
        unit.is_some_and(|unit| ["", "_ns", "_hz"].contains(&unit))
    });
    params.any(|(name, param)| match param {
        Value::String(word) => word == value,
        Value::Number(number) => {
            let length = || value.parse::<Nanos>().ok().map(|l| l.as_ns() as f64);
            let plain = || value.parse::<f64>().ok();
            let wanted = if name.ends_with("_ns") {
                length().or_else(plain)
            } else {
                plain()
            };
            wanted.is_some() && wanted == number.as_f64()
        }
        Value::Bool(flag) => value.parse() == Ok(*flag),
        _ => false,
    })
}

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
            rule.metric.name,
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
            let value = written(rule.metric, estimate);
            Some(match rule.beyond.holds(estimate.value, limit) {
                true => (
                    RuleOutcome::Fails,
                    value + &over_limit(estimate.value, limit),
                ),
                false => (RuleOutcome::Passes, value),
            })
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

fn written(metric: Metric, estimate: &Estimate) -> String {
    let value = estimate.value;
    match metric.quantity {
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
    let each = each.map(|(experiment, subjects)| match subjects.as_slice() {
        [only] => format!("{experiment}/{only}"),
        many => format!("{experiment}/{{{}}}", many.join(", ")),
    });
    match experiments.is_empty() {
        true => "no results".to_owned(),
        false => prose::list(each),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beyond(is_low: bool, with_limit: bool) -> Beyond {
        Beyond { is_low, with_limit }
    }

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    #[test]
    fn rules_read_as_they_are_meant() {
        let plain = rule("late_p99>500us");
        assert_eq!(
            (plain.metric, plain.beyond),
            (Metric::LATE_P99, beyond(false, false))
        );
        assert_eq!(plain.limit, Limit::Value(500_000.0));
        let full = rule(" pace/system:method=timerfd@rate=60@load=1 : cpu >= 5 % ");
        assert_eq!(full.limit, Limit::Value(0.05));
        assert_eq!(full.beyond, beyond(false, true));
        assert_eq!(full.selector.experiment, "pace");
        assert_eq!(full.selector.subject, "system:method=timerfd");
        assert_eq!(full.selector.params.len(), 2);
        assert_eq!(rule("p99 > 1ms").metric, Metric::LATE_P99);
        assert_eq!(rule("cost_w10 > 1.25x").limit, Limit::Factor(1.25));
        let zeroed = rule("zero-pool/mcs@batch=64: gb_per_cpu_s < 5 GB/s");
        assert_eq!(
            (zeroed.limit, zeroed.beyond),
            (Limit::Value(5.0), beyond(true, false))
        );
        assert_eq!(rule("wall_gb_per_s <= 0.8x").beyond, beyond(true, true));
    }

    #[test]
    fn what_is_no_rule_is_refused_with_what_would_be_one() {
        for (text, says) in [
            ("", "no `>`"),
            ("late_p50 < 5us", "less late_p50 is better"),
            ("gb_per_cpu_s > 0.8x", "more gb_per_cpu_s is better"),
            ("gb_per_cpu_s < 5us", "5GB/s"),
            ("gb_per_cpu_s < 5", "5GB/s"),
            ("gb_per_cpu_s < 0x", "1.2x"),
            ("late_p50 = 5us", "no `>`"),
            ("late > 5us", "late_p50"),
            ("late_p50 > 5", "500us"),
            ("late_p50 > 5%", "500us"),
            ("late_p50 > -5us", "500us"),
            ("late_p50 > 0x", "1.2x"),
            ("late_p50 > infx", "1.2x"),
            ("late_max > 1.2x", "no interval"),
            ("cpu > 5us", "5%"),
            ("cpu > nan%", "5%"),
            ("/: late_p50 > 5us", "selects nothing"),
            (": late_p50 > 5us", "selects nothing"),
            ("sleep@asked: late_p50 > 5us", "@asked=1ms"),
        ] {
            let why = text.parse::<Rule>().unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "any"),
            ("adaptive-*", "adaptive-exact"),
            ("*-exact", "adaptive-exact"),
            ("a*ve*ct", "adaptive-exact"),
            ("a**t", "adaptive-exact"),
            ("spin", "spin"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("spin", "spin_sleep"),
            ("*spin", "spin_sleep"),
            ("ab*ba", "aba"),
            ("a*b*c", "acb"),
            ("", "spin"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn parameters_are_named_with_or_without_their_unit() {
        let row = Row {
            experiment: "load".to_owned(),
            subjects: vec!["poll".to_owned()],
            params: [
                ("asked_ns".to_owned(), 1_000_000.into()),
                ("load_per_cpu".to_owned(), 0.5.into()),
                ("priority".to_owned(), "raised".into()),
                ("rate_hz".to_owned(), 60.0.into()),
            ]
            .into(),
            cells: vec![],
            published: vec![],
        };
        for selector in [
            "load@asked=1ms",
            "load/poll@asked_ns=1000us",
            "*@asked=1000000",
            "load@load_per_cpu=0.5@priority=raised",
            "load@rate=60",
        ] {
            assert!(
                rule(&format!("{selector}: late_p50 > 1us")).selects(&row),
                "{selector}"
            );
        }
        for selector in [
            "load@asked=2ms",
            "load@ask=1ms",
            "load@load_per_cpu=1",
            "load@cpu=3",
            "sleep",
            "load/select",
        ] {
            assert!(
                !rule(&format!("{selector}: late_p50 > 1us")).selects(&row),
                "{selector}"
            );
        }
    }
}
