//! Rules described by plain values.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use punctual_core::Nanos;

use crate::windows::Generation;
use crate::{Linux, MacOs, Rule, Windows, Wine, linux, macos, windows};

/// The rule of one OS with the values of its parameters: whatever builds a [`Rule`].
///
/// As text it is the name of a model and `key=value`, separated by spaces or commas, with the keys
/// that models have: `linux slack=50us rt_slack=none hz=250 ...`. No parameter has a default here;
/// of a key that is there twice the last value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Description {
    /// Linux.
    Linux(linux::Options),
    /// macOS.
    MacOs(macos::Options),
    /// Wine on such a Linux.
    Wine(linux::Options),
    /// A generation of Windows.
    Windows(windows::Options),
}

impl Description {
    /// The rule of a model by its name, such as `windows-11`, with the value of each parameter as a
    /// user would type it.
    ///
    /// # Errors
    /// There is no such model, or `value` lacks a parameter or has one that cannot be.
    pub fn read(model: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let values = Values { of: value };
        match model.split('-').next() {
            Some("linux") => linux::Options::read(&values).map(Self::Linux),
            Some("macos") => macos::Options::read(&values).map(Self::MacOs),
            Some("wine") => linux::Options::read(&values).map(Self::Wine),
            _ => {
                let generation = Generation::named(model);
                let generation = generation.ok_or_else(|| format!("there is no rule `{model}`"))?;
                windows::Options::read(generation, &values).map(Self::Windows)
            }
        }
        .map_err(|why| format!("the rule `{model}`: {why}"))
    }

    /// The rule as it is before anything has happened.
    pub fn build(&self) -> Box<dyn Rule> {
        match self {
            Self::Linux(options) => Box::new(Linux::new(options)),
            Self::MacOs(options) => Box::new(MacOs::new(options)),
            Self::Wine(options) => Box::new(Wine::new(options)),
            Self::Windows(options) => Box::new(Windows::new(options)),
        }
    }
}

impl FromStr for Description {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_between = |c: char| c == ',' || c.is_whitespace();
        let mut parts = text.split(is_between).filter(|part| !part.is_empty());
        let model = parts.next().unwrap_or_default();
        let pair = |part: &'_ str| {
            let pair = part.split_once('=');
            let (key, value) = pair.ok_or_else(|| format!("`{part}` is no key=value"))?;
            Ok((key.to_owned(), value.to_owned()))
        };
        let given: Vec<(String, String)> = parts.map(pair).collect::<Result<_, String>>()?;
        let value = |key: &str| {
            let found = given.iter().rfind(|(given, _)| given == key);
            found.map(|(_, value)| value.clone())
        };
        Self::read(model, &value)
    }
}

/// The values of parameters, by key.
pub(crate) struct Values<'v> {
    of: &'v dyn Fn(&str) -> Option<String>,
}

impl Values<'_> {
    fn text(&self, key: &str) -> Result<String, String> {
        (self.of)(key).ok_or_else(|| format!("there is no `{key}`"))
    }

    /// A length of time.
    pub(crate) fn length(&self, key: &str) -> Result<Nanos, String> {
        let text = self.text(key)?;
        text.parse().map_err(|why| format!("`{key}`: {why}"))
    }

    /// A length of time that is not zero.
    pub(crate) fn some_length(&self, key: &str) -> Result<Nanos, String> {
        match self.length(key)? {
            Nanos::ZERO => Err(format!("`{key}` is zero")),
            length => Ok(length),
        }
    }

    /// A whole number in a range.
    pub(crate) fn count(&self, key: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
        let text = self.text(key)?;
        let count = text.parse().ok().filter(|count| range.contains(count));
        let (min, max) = (range.start(), range.end());
        count.ok_or_else(|| format!("`{key}={text}` is no whole number from {min} to {max}"))
    }

    /// The meaning of one of some words.
    pub(crate) fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, String> {
        let text = self.text(key)?;
        let found = words.iter().find(|(word, _)| *word == text);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("`{key}={text}`: it can be {}", words.join(", "))
        })
    }

    /// Whether it is the second of two words.
    pub(crate) fn is(&self, key: &str, words: [&str; 2]) -> Result<bool, String> {
        self.choice(key, &[(words[0], false), (words[1], true)])
    }
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::described;

    #[test]
    fn a_description_reads_and_a_wrong_one_says_why() {
        let linux = described("linux", "slack=10ns,hz=1000");
        let Description::Linux(options) = linux else {
            panic!("{linux:?}");
        };
        assert_eq!((options.slack, options.hz), (Nanos::new(10), 1_000));
        for model in ["wine", "macos", "windows-xp", "windows-11"] {
            assert_eq!(described(model, ""), described(model, ","));
        }
        for (text, says) in [
            ("", "there is no rule ``"),
            ("lunix", "there is no rule `lunix`"),
            ("windows-12", "there is no rule `windows-12`"),
            ("linux", "the rule `linux`: there is no `slack`"),
            ("linux slack", "`slack` is no key=value"),
            ("linux slack=1", "`slack`: "),
        ] {
            let error = text.parse::<Description>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        for (model, given, says) in [
            ("linux", "hz=0", "no whole number from 1 to 10000"),
            (
                "linux",
                "nohz=off",
                "it can be idle, after-tick, periodic, full",
            ),
            ("macos", "tier=6", "it can be 0, 1, 2, 3, 4, 5, none"),
            ("macos", "interrupts=-1", "no whole number from 0"),
            ("windows-7", "interval=0ns", "`interval` is zero"),
            ("windows-11", "slip=101", "from 0 to 100"),
        ] {
            let error = crate::testing::text(model, given).parse::<Description>();
            let error = error.unwrap_err();
            assert!(error.contains(says), "{model} {given}: {error}");
        }
    }
}
