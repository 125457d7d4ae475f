//! The changes that `punctual trace --try` knows.

use std::fmt;
use std::str::FromStr;

use punctual_core::Nanos;
use punctual_sim::Model;

/// A change of a program.
#[derive(Clone, Debug)]
pub(super) enum Attempt {
    /// Its threads start with this timer slack.
    Slack(Nanos),
    /// Its waits end when they were asked to end, as with `exec --accurate`.
    Accurate,
    /// Its waits end when those of this system would, as with `emulate`.
    Emulate(Box<Model>),
}

impl FromStr for Attempt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("slack", length)) => match length.parse::<Nanos>() {
                Ok(slack) if !slack.is_zero() => Ok(Self::Slack(slack)),
                Ok(_) => {
                    Err("a timer slack of zero means the usual one: 1ns is the least".to_owned())
                }
                Err(why) => Err(why.to_string()),
            },
            Some(("emulate", model)) => {
                Model::parse(model).map(|model| Self::Emulate(Box::new(model)))
            }
            None if text == "accurate" => Ok(Self::Accurate),
            _ => Err(format!(
                "there is no change `{text}`; there are slack=LENGTH, accurate, and emulate=MODEL"
            )),
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slack(slack) => write!(f, "slack={}", slack.to_string().replace(' ', "")),
            Self::Accurate => f.write_str("accurate"),
            Self::Emulate(model) => write!(f, "emulate={}", model.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_written_as_they_are_asked_for() {
        for text in ["slack=1ns", "slack=2ms", "accurate", "emulate=windows-11"] {
            let attempt: Attempt = text.parse().unwrap();
            assert_eq!(attempt.to_string(), text);
        }
    }

    #[test]
    fn others_are_refused_with_the_changes_that_there_are() {
        for (text, says) in [
            ("priority=high", "there are slack=LENGTH"),
            ("accurate=yes", "there are slack=LENGTH"),
            ("slack=0ns", "1ns is the least"),
            ("slack=long", "long"),
            ("emulate=amiga", "amiga"),
        ] {
            let why = text.parse::<Attempt>().unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }
}
