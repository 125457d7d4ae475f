//! Lists and ranges of values.

use punctual_core::Nanos;
use punctual_record::Value;

use crate::scenario::error::Flaw;
use crate::scenario::table::{Field, Table};

/// An axis has so many values at most.
const MOST: usize = 1_024;

/// The values of a key: one or a list, each a value, or `{ from, to, step }` or `{ from, to, times }`.
pub(super) fn values(field: &Field<'_>) -> Result<Vec<Value>, Flaw> {
    let mut values = Vec::new();
    for item in field.list_or_one() {
        match item.table() {
            Ok(range) => values.extend(of_range(&item, &range)?),
            Err(_) => values.push(value(item.number_or_word()?)),
        }
    }
    if values.is_empty() || values.len() > MOST {
        return Err(field.flaw(format!(
            "`{}` has {} values; it can have from 1 to {MOST}",
            field.key,
            values.len()
        )));
    }
    for (i, value) in values.iter().enumerate() {
        if values[..i].contains(value) {
            return Err(field.flaw(format!("`{}` has {value} twice", field.key)));
        }
    }
    Ok(values)
}

/// A number where it is one.
fn value(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(whole), _) => whole.into(),
        (_, Ok(number)) if number.is_finite() => number.into(),
        _ => text.into(),
    }
}

/// The numbers of values.
pub(super) fn numbers(
    field: &Field<'_>,
    what: &str,
    is_right: impl Fn(f64) -> bool,
) -> Result<Vec<Value>, Flaw> {
    let values = values(field)?;
    match values.iter().find(|it| !it.as_f64().is_some_and(&is_right)) {
        Some(wrong) => Err(field.flaw(format!("`{}`: {wrong} is not {what}", field.key))),
        None => Ok(values),
    }
}

const HZ: &str = "Hz";

/// The kind of values of a range.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Length,
    Rate,
}

/// From one to the other, both included where the steps meet it.
fn of_range(field: &Field<'_>, range: &Table<'_>) -> Result<Vec<Value>, Flaw> {
    range.only("a range", &["from", "to", "step", "times"])?;
    let [from, to] = ["from", "to"].map(|key| range.need("a range", key));
    let (from, to) = (from?, to?);
    let kind = match from.word() {
        Ok(word) if word.ends_with(HZ) => Kind::Rate,
        Ok(_) => Kind::Length,
        Err(_) => Kind::Number,
    };
    let read = |field: &Field<'_>| match kind {
        Kind::Number => number(field),
        Kind::Length => field.length().map(|length| length.as_ns() as f64),
        Kind::Rate => {
            let hz = field
                .word()?
                .strip_suffix(HZ)
                .and_then(|hz| hz.parse().ok());
            hz.ok_or_else(|| field.flaw(format!("`{}` must be a rate here, like 60Hz", field.key)))
        }
    };
    let next: Box<dyn Fn(f64) -> f64> = match (range.find("step"), range.find("times")) {
        (Some(step), None) => {
            let step = read(&step)?;
            Box::new(move |value| rounded(value + step))
        }
        (None, Some(times)) => {
            let times = number(&times)?;
            Box::new(move |value| rounded(value * times))
        }
        _ => {
            return Err(field.flaw("a range has either `step`, to add, or `times`, to multiply by"));
        }
    };
    let (mut at, to) = (read(&from)?, read(&to)?);
    let mut values = Vec::new();
    while at <= to && values.len() <= MOST {
        values.push(match kind {
            Kind::Number => value(&at.to_string()),
            Kind::Length => Value::from(Nanos::new(at as u64).exact()),
            Kind::Rate => Value::from(format!("{at}{HZ}")),
        });
        let after = next(at);
        if after <= at {
            return Err(field.flaw(format!("`{}`: its steps lead nowhere", field.key)));
        }
        at = after;
    }
    Ok(values)
}

/// To thirteen digits, so that 0.1 and 0.2 are 0.3, and a range meets its end.
fn rounded(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

fn number(field: &Field<'_>) -> Result<f64, Flaw> {
    let number = field.number_or_word()?.parse().ok();
    number
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| field.flaw(format!("`{}` must be a number here", field.key)))
}

/// The text of a parameter for a model.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `50% of wake`: the share, and of what.
pub(super) fn share(value: &Value) -> Option<(f64, &str)> {
    let (share, of) = value.as_str()?.split_once("% of ")?;
    let share: f64 = share.parse().ok()?;
    (0.0..=1e6).contains(&share).then_some((share / 100.0, of))
}
