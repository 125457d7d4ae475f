//! Errors in a scenario, with their places.

use std::fmt;

use punctual_record::visible;

/// An error at a byte of the text.
#[derive(Debug)]
pub(crate) struct Flaw {
    at: usize,
    message: String,
}

impl Flaw {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

/// Why a scenario cannot be read: its name, the place, what is wrong and what
/// to do, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1, unless it is where the text
    /// of the line begins.
    pub column: Option<usize>,
    message: String,
}

impl Error {
    /// `flaw` in the text of the scenario `name`.
    pub(crate) fn new(name: &str, text: &str, flaw: Flaw) -> Self {
        let before = &text.as_bytes()[..flaw.at.min(text.len())];
        let begin = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        let on_line = String::from_utf8_lossy(&before[begin..]);
        Self {
            name: name.to_owned(),
            line: line(text, flaw.at),
            // The start of a line needs no column.
            column: (!on_line.trim().is_empty()).then(|| on_line.chars().count() + 1),
            message: flaw.message,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.name, self.line)?;
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        f.write_str(": ")?;
        // A quotation from the file must not break the line.
        f.write_str(&visible(&self.message))
    }
}

impl std::error::Error for Error {}

/// The line of a byte of `text`, counted from 1.
pub(super) fn line(text: &str, at: usize) -> usize {
    let before = &text.as_bytes()[..at.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Names for a message; of very many, the first.
pub(super) fn list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 40;
    let names: Vec<_> = names.into_iter().collect();
    match names.len() {
        ..=SHOWN => names.join(", "),
        all => format!("{} and {} more", names[..SHOWN].join(", "), all - SHOWN),
    }
}

/// A key or word of any length for a message.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
