//! Runtimes: the calls by which their ports to other systems wait.
//!
//! A program of a runtime waits on Linux by calls of its port to Linux. Its port to Windows can use other calls, with
//! other rules. The table of a runtime says which, by version; [`Port`] is the part of it that one process needs.
//!
//! | file | what is in it |
//! |---|---|
//! | `cpython` | CPython 3.9 to 3.14 |
//! | `port` | the calls of one process under one rule |

pub mod cpython;
mod port;

pub use port::{Port, Way};

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use punctual_core::Method;
use punctual_rules::OsClock;

use crate::Call;

/// A line of the table of a runtime: one kind of wait, in a range of versions.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The first and the last version.
    pub versions: (u8, u8),
    /// The name of the wait for users of the runtime.
    pub what: &'static str,
    /// The calls that it makes on Linux, in any version.
    pub here: &'static [Call],
    /// On Windows.
    pub windows: Instead,
    /// On macOS.
    pub macos: Instead,
    /// Where the code of the runtime has it.
    pub source: &'static str,
}

/// The call of a port, and how its wait ends.
#[derive(Clone, Copy, Debug)]
pub struct Instead {
    /// The call, as the runtime's code has it.
    pub call: &'static str,
    /// The calls of the rule that end alike, the best first.
    pub methods: &'static [Method],
    /// Whether the port waits again until the whole length is over by an exact clock.
    pub again: bool,
}

/// A clock of a runtime that moves in steps on Windows.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The first and the last version.
    pub versions: (u8, u8),
    /// Its name in the runtime.
    pub what: &'static str,
    /// The clock of Windows behind it.
    pub windows: OsClock,
    /// The name that the runtime states for it.
    pub stated: &'static str,
    /// Where the code of the runtime has it.
    pub source: &'static str,
}

impl Line {
    /// Whether it is of this version.
    pub fn has(&self, minor: u8) -> bool {
        has(self.versions, minor)
    }

    /// The call of the port to an OS with these methods; `None` on Linux, where each call is itself.
    pub fn instead(&self, methods: &[Method]) -> Option<Instead> {
        if methods.contains(&Method::WindowsSleep) {
            Some(self.windows)
        } else if methods.contains(&Method::MachWaitUntil) {
            Some(self.macos)
        } else {
            None
        }
    }
}

impl Clock {
    /// Whether it is of this version.
    pub fn has(&self, minor: u8) -> bool {
        has(self.versions, minor)
    }
}

fn has(versions: (u8, u8), minor: u8) -> bool {
    RangeInclusive::new(versions.0, versions.1).contains(&minor)
}

/// The port as which a program is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenFor {
    /// A C program.
    Plain,
    /// CPython 3 of this minor version.
    Python(u8),
}

impl TakenFor {
    /// It as a word of the page; no statement is zero.
    pub fn word(this: Option<Self>) -> u64 {
        match this {
            None => 0,
            Some(Self::Plain) => 1,
            Some(Self::Python(minor)) => 0x300 | u64::from(minor),
        }
    }

    /// Reads such a word.
    pub fn of(word: u64) -> Option<Self> {
        match word {
            1 => Some(Self::Plain),
            0x300..=0x3ff => Some(Self::Python(word as u8)),
            _ => None,
        }
    }
}

impl fmt::Display for TakenFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Python(minor) => write!(f, "python-3.{minor}"),
        }
    }
}

impl FromStr for TakenFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = cpython::VERSIONS;
        let minor = text.strip_prefix("python-3.").map(str::parse);
        match minor {
            _ if text == "plain" => Ok(Self::Plain),
            Some(Ok(minor)) if has(cpython::VERSIONS, minor) => Ok(Self::Python(minor)),
            _ => Err(format!(
                "a program can be taken for `plain`, or for `python-3.{first}` to `python-3.{last}`"
            )),
        }
    }
}

/// The minor version in the name or the version text of CPython 3, such as `3.11.2` or `3.11`.
pub fn minor_version(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"3.")?;
    let len = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    std::str::from_utf8(&digits[..len]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_is_taken_for_crosses_as_a_word_and_as_text() {
        for taken_for in [None, Some(TakenFor::Plain), Some(TakenFor::Python(12))] {
            assert_eq!(TakenFor::of(TakenFor::word(taken_for)), taken_for);
            if let Some(taken_for) = taken_for {
                assert_eq!(taken_for.to_string().parse(), Ok(taken_for));
            }
        }
        for wrong in [
            "",
            "python",
            "python-3.8",
            "python-3.15",
            "python-3.x",
            "node-20",
        ] {
            assert!(
                wrong
                    .parse::<TakenFor>()
                    .unwrap_err()
                    .contains("python-3.9"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn versions_are_found() {
        for (text, minor) in [
            ("3.11.2 (main, May 2 2024) [GCC]", Some(11)),
            ("3.9", Some(9)),
            ("3.", None),
            ("2.7", None),
            ("3.999", None),
        ] {
            assert_eq!(minor_version(text.as_bytes()), minor, "{text}");
        }
    }
}
