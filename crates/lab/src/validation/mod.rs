//! What the simulated computers are held against: rules and figures that
//! others documented or measured, one row each.
//!
//! Each row runs programs on a model and compares what came out. The rows of
//! one operating system are in one file:
//!
//! | file | rows | what |
//! |---|---|---|
//! | `windows` | V01-V46, V68-V70, V72 | Windows, and policies that need its rules |
//! | `linux` | V47-V60 | Linux |
//! | `macos` | V61-V65 | macOS |
//! | `others` | V67 | Wine |
//!
//! The numbers in between are reserved. `probe` has the programs and figures
//! that rows share.

mod linux;
mod macos;
mod others;
mod probe;
mod sources;
mod windows;

pub use sources::SOURCES;

use punctual_program::Refusal;

/// One thing that the models are held against.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name: `V47`.
    pub id: &'static str,
    /// The rule, in a few words.
    pub rule: &'static str,
    /// What is done.
    pub input: &'static str,
    /// What comes of it according to the source.
    pub expected: &'static str,
    /// How far from that is still the same.
    pub tolerance: &'static str,
    /// What the expectation rests on.
    pub kind: Kind,
    /// Where the expectation comes from, with the short names of [`SOURCES`].
    pub source: &'static str,
    /// Does it on a model. Always the same.
    pub run: fn() -> Result<Outcome, Refusal>,
}

/// The rows whose model, or whose program, has something in it that was taken
/// from the very figures that they are held against. That such a row holds says
/// that the rule can make these figures, not that it foretells them.
const FITTED: [&str; 15] = [
    // What the measuring program needs between two sleeps: 4 us.
    "V19", "V34", "V35", // What waking takes: 20 us.
    "V20", // What the noise was that worked between the sleeps.
    "V22", // The formula for the length of a default scan.
    "V23", "V24", "V25", "V26", "V27", "V28",
    // What waking takes, 30 us, and what else was done between two timers.
    "V38", "V39", // What waking takes, from which idle state.
    "V48", "V49",
];

impl Row {
    /// Whether its model was fitted to the very figures it is held against, so
    /// that it is no evidence of its own.
    pub fn is_fitted(&self) -> bool {
        FITTED.contains(&self.id)
    }
}

/// What an expectation rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The vendor's documentation or source.
    Documented,
    /// Somebody else's measurement.
    Measured,
    /// A consequence of a rule that agrees with data.
    Inferred,
    /// A consequence of a rule that nobody has checked. Not asserted.
    Predicted,
    /// The data that a parameter was taken from, so that it must agree. Not
    /// asserted.
    Calibrated,
}

impl Kind {
    /// The letter that stands for it in a table.
    pub const fn letter(self) -> char {
        match self {
            Self::Documented => 'D',
            Self::Measured => 'M',
            Self::Inferred => 'I',
            Self::Predicted => 'P',
            Self::Calibrated => 'C',
        }
    }

    /// Whether a row of this kind that does not hold is a defect.
    pub const fn is_asserted(self) -> bool {
        matches!(self, Self::Documented | Self::Measured | Self::Inferred)
    }
}

/// What came of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What the model did.
    pub got: String,
    /// Whether that is what was expected, within the tolerance.
    pub holds: bool,
    /// How it was made, and why it deviates if it does; may be empty.
    pub note: &'static str,
}

/// All rows, in the order of their names.
pub fn rows() -> Vec<Row> {
    let mut rows = [
        windows::rows(),
        linux::rows(),
        macos::rows(),
        others::rows(),
    ]
    .concat();
    rows.sort_by_key(|row| row.id);
    rows
}
