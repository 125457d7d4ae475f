//! Between what a number of a row is to lie, and what its texts say of that.

use std::fmt;

use punctual_record::Value;
use serde::Deserialize;

use crate::published::{self, written};

/// The bounds of a number. Each bound that is present must hold.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Bound {
    /// It is this, to as many places as that has.
    exact: Option<Number>,
    /// It is about this.
    near: Option<Number>,
    /// Up to an absolute difference.
    by: Option<Number>,
    /// Up to a factor.
    times: Option<Number>,
    /// It is not less.
    least: Option<Number>,
    /// It is not more.
    most: Option<Number>,
    /// Up to a share of the value.
    percent: Option<Number>,
}

impl Bound {
    pub(super) fn holds(&self, got: f64) -> bool {
        let value = |number: Option<Number>| number.map(|number| number.value);
        let share = value(self.percent).unwrap_or(0.0) / 100.0;
        let (by, times) = (
            value(self.by).unwrap_or(0.0),
            value(self.times).unwrap_or(1.0),
        );
        let is_near = |near: f64| {
            let is_within = (got - near).abs() <= by + near * share;
            is_within || (near / times..=near * times).contains(&got)
        };
        self.exact.is_none_or(|exact| exact.is(got))
            && value(self.near).is_none_or(is_near)
            && value(self.least).is_none_or(|least| got >= least * (1.0 - share))
            && value(self.most).is_none_or(|most| got <= most * (1.0 + share))
    }

    fn named(&self) -> [(&'static str, Option<Number>); 7] {
        [
            ("exact", self.exact),
            ("near", self.near),
            ("by", self.by),
            ("times", self.times),
            ("least", self.least),
            ("most", self.most),
            ("percent", self.percent),
        ]
    }
}

/// The text of a tolerance that is a percentage alone.
pub(super) fn percentage() -> String {
    "{percent} %".to_owned()
}

/// A text with its places filled: `{near}` with that of the first bound, `{near1}` with that of
/// the second, and those of what is published.
pub(super) fn filled(text: &str, bounds: &[Bound]) -> String {
    let mut text = text.to_owned();
    for (i, bound) in bounds.iter().enumerate() {
        for (name, number) in bound.named() {
            let Some(number) = number else { continue };
            let place = match i {
                0 => format!("{{{name}}}"),
                i => format!("{{{name}{i}}}"),
            };
            text = text.replace(&place, &number.to_string());
        }
    }
    published::filled(&text)
}

/// A number as it is written; in quotes, one that is published.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Value")]
struct Number {
    value: f64,
    decimals: usize,
}

impl TryFrom<Value> for Number {
    type Error = String;

    fn try_from(said: Value) -> Result<Self, String> {
        let text = match said.as_str() {
            Some(name) => written(name).ok_or_else(|| format!("{name} is not published"))?,
            None => said.to_string(),
        };
        let decimals = text
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        let value = text.parse().map_err(|_| format!("{text} is no number"))?;
        Ok(Self { value, decimals })
    }
}

impl Number {
    /// Whether another one is this, to as many places as this has.
    fn is(self, other: f64) -> bool {
        format!("{other:.*}", self.decimals) == self.to_string()
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*}", self.decimals, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::Validation;

    fn bound(text: &str) -> Bound {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn bounds_hold_up_to_their_edges() {
        for (text, inside, outside) in [
            ("exact = 6.104", [6.1036, 6.1044], [6.1034, 6.1046]),
            ("exact = 22", [22.0, 22.4], [21.0, 23.0]),
            ("near = 200\npercent = 15", [170.0, 230.0], [169.0, 231.0]),
            ("near = 80\nby = 7", [73.0, 87.0], [72.9, 87.1]),
            ("near = 60\ntimes = 10", [6.0, 600.0], [5.9, 601.0]),
            ("least = 8\nmost = 14.5", [8.0, 14.5], [7.9, 14.6]),
            (
                "least = 40\nmost = 80\npercent = 5",
                [38.0, 84.0],
                [37.9, 84.1],
            ),
        ] {
            let bound = bound(text);
            assert!(inside.iter().all(|got| bound.holds(*got)), "{text}");
            assert!(!outside.iter().any(|got| bound.holds(*got)), "{text}");
            assert!(!bound.holds(f64::NAN), "{text}");
        }
        assert!(toml::from_str::<Bound>("nearly = 1").is_err());
    }

    /// A reader sees what decides.
    #[test]
    fn every_bound_is_said() {
        for row in Validation::load().rows {
            let said = format!("{}, {}", row.expected, row.tolerance);
            let numbers = said.split(|c: char| !c.is_ascii_digit() && c != '.');
            let numbers: Vec<&str> = numbers.collect();
            assert_eq!(row.bounds.is_empty(), row.prediction, "{}", row.id);
            for (name, number) in row.bounds.iter().flat_map(Bound::named) {
                let is_said = number.is_none_or(|n| numbers.contains(&&*n.to_string()));
                assert!(is_said, "{}: {name} {number:?}: {said}", row.id);
            }
        }
    }
}
