//! The parameters of a model, set as `key=value`.

use std::fmt;

use punctual_core::Nanos;
use serde::Deserialize;

use super::Part;
use super::idle;

/// Something that can be set about a model.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The key that users type before the equals sign.
    pub key: &'static str,
    /// A description of a few words.
    pub what: &'static str,
    /// The possible values.
    #[serde(rename = "can_be")]
    pub kind: Domain,
    /// The default, written as a user would.
    pub default: &'static str,
    /// How sure the default is.
    #[serde(rename = "sure")]
    pub confidence: Confidence,
    /// Where the default comes from.
    pub source: &'static str,
    /// The part that it decides.
    #[serde(default)]
    pub part: Part,
}

/// The kinds of values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "&'static str", bound(deserialize = "'de: 'static"))]
pub enum Domain {
    /// A length of time in these bounds.
    Length(Nanos, Nanos),
    /// A whole number in these bounds.
    Count(u64, u64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, or idle states of one's own.
    States(&'static [&'static str]),
}

/// As it writes itself.
impl From<&'static str> for Domain {
    fn from(text: &'static str) -> Self {
        let ends = text.split_once(" to ");
        let counts = ends.and_then(|(min, max)| Some((min.parse().ok()?, max.parse().ok()?)));
        let lengths = ends.and_then(|(min, max)| Some((min.parse().ok()?, max.parse().ok()?)));
        match (counts, lengths) {
            (Some((min, max)), _) => Self::Count(min, max),
            (None, Some((min, max))) => Self::Length(min, max),
            (None, None) => {
                let (words, has_states) = match text.strip_suffix(", or states") {
                    Some(words) => (words, true),
                    None => (text, false),
                };
                // The models are read once.
                let words = words.split(", ").collect::<Vec<_>>().leak();
                if has_states {
                    Self::States(words)
                } else {
                    Self::Choice(words)
                }
            }
        }
    }
}

/// In words, all of it.
impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(min, max) => write!(f, "{} to {}", min.exact(), max.exact()),
            Self::Count(min, max) => write!(f, "{min} to {max}"),
            Self::Choice(words) => f.write_str(&words.join(", ")),
            Self::States(words) => write!(f, "{}, or {}", words.join(", "), idle::SYNTAX),
        }
    }
}

/// How sure a figure or a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub enum Confidence {
    /// Documented by the vendor, or read in the vendor's open source.
    A,
    /// Measured by others, and consistent with another source.
    B,
    /// One measurement, or an inference from numbers.
    C,
    /// Weak: not verified.
    D,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A length of time.
    Length(Nanos),
    /// A whole number.
    Count(u64),
    /// A word.
    Choice(&'static str),
}

/// As the user would type it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => f.write_str(&length.exact()),
            Self::Count(count) => count.fmt(f),
            Self::Choice(word) => f.write_str(word),
        }
    }
}

impl Parameter {
    /// Reads a value.
    ///
    /// # Errors
    /// Says what the parameter can be.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let key = self.key;
        match self.kind {
            Domain::Length(min, max) => {
                let value: Nanos = text.parse().map_err(|why| format!("`{key}`: {why}"))?;
                (min..=max)
                    .contains(&value)
                    .then_some(Value::Length(value))
                    .ok_or_else(|| {
                        format!(
                            "`{key}={text}`: it can be from {} to {}",
                            min.exact(),
                            max.exact()
                        )
                    })
            }
            Domain::Count(min, max) => text
                .parse()
                .ok()
                .filter(|value| (min..=max).contains(value))
                .map(Value::Count)
                .ok_or_else(|| {
                    format!("`{key}={text}`: it can be a whole number from {min} to {max}")
                }),
            Domain::Choice(words) => {
                word(words, text).ok_or_else(|| format!("`{key}={text}`: it can be {}", self.kind))
            }
            Domain::States(words) => {
                let own = || text.contains(':').then(|| idle::read(text));
                match word(words, text)
                    .map(Ok)
                    .or_else(|| Some(own()?.map(Value::Choice)))
                {
                    Some(value) => value.map_err(|why| format!("`{key}={text}`: {why}")),
                    None => Err(format!("`{key}={text}`: it can be {}", self.kind)),
                }
            }
        }
    }
}

fn word(words: &'static [&'static str], text: &str) -> Option<Value> {
    let found = words.iter().find(|word| **word == text);
    found.map(|word| Value::Choice(word))
}

/// The parameters of a model with their values, in the order in which they are
/// shown.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(Parameter, Value)>);

impl Parameters {
    /// All of them, each at its default.
    pub(super) fn at_defaults(parameters: impl Iterator<Item = Parameter>) -> Self {
        let all = parameters.map(|parameter| {
            let value = parameter.parse(parameter.default);
            (parameter, value.expect("a default can be read"))
        });
        Self(all.collect())
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// There is none of this name, or it cannot have this value.
    pub(crate) fn set(&mut self, key: &str, text: &str) -> Result<Value, String> {
        let Some((parameter, value)) = self.0.iter_mut().find(|(p, _)| p.key == key) else {
            let keys: Vec<_> = self.0.iter().map(|(p, _)| p.key).collect();
            return Err(match &keys[..] {
                [] => format!("it has no parameter `{key}`, and no other"),
                keys => format!("it has no parameter `{key}`; it has {}", keys.join(", ")),
            });
        };
        *value = parameter.parse(text)?;
        Ok(*value)
    }

    /// Each with its value.
    pub fn iter(&self) -> impl Iterator<Item = &(Parameter, Value)> {
        self.0.iter()
    }

    /// The length that `key` is set to.
    ///
    /// # Panics
    /// There is no such parameter.
    pub(crate) fn length(&self, key: &str) -> Nanos {
        match self.value(key) {
            Value::Length(length) => length,
            other => panic!("{key} is {other}, no length"),
        }
    }

    /// The number that `key` is set to.
    ///
    /// # Panics
    /// There is no such parameter.
    pub(crate) fn count(&self, key: &str) -> u64 {
        match self.value(key) {
            Value::Count(count) => count,
            other => panic!("{key} is {other}, no number"),
        }
    }

    /// The word that `key` is set to.
    ///
    /// # Panics
    /// There is no such parameter.
    pub(crate) fn choice(&self, key: &str) -> &'static str {
        match self.value(key) {
            Value::Choice(word) => word,
            other => panic!("{key} is {other}, no word"),
        }
    }

    /// The value of `key`, as the user would type it; `None` if there is no such parameter.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let found = self.0.iter().find(|(p, _)| p.key == key);
        found.map(|(_, value)| value.to_string())
    }

    fn value(&self, key: &str) -> Value {
        let found = self.0.iter().find(|(p, _)| p.key == key);
        found.unwrap_or_else(|| panic!("there is no {key}")).1
    }
}
