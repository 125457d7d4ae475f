//! A row: what it says of itself, and what comes of running it.

use punctual_program::{Program, Refusal};

use super::robustness;
use super::see::{self, See};

/// One thing that the models are held against.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name: `V47`.
    pub id: String,
    /// The rule, in a few words.
    pub rule: String,
    /// What is done.
    pub input: String,
    /// What comes of it according to the source.
    pub expected: String,
    /// How far from that is still the same.
    pub tolerance: String,
    /// What the expectation rests on.
    pub kind: Evidence,
    /// What of the model or of the program was taken from the very figure that
    /// it is held against: that such a row holds says that the rule can make
    /// this figure, not that it foretells it.
    pub fitted: Option<String>,
    /// Where the expectation comes from, with the short names of [`sources`](super::sources).
    pub source: String,
    /// How it was made, and why it deviates if it does; may be empty.
    pub note: String,
    /// How what was seen is shown: `{1}` is the first figure. Without it, all
    /// of them in a line.
    pub(super) got: Option<String>,
    pub(super) runs: Vec<Run>,
}

/// What an expectation rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
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

impl Evidence {
    /// All of them, each with its name in a file.
    pub const NAMED: [(&str, Self); 5] = [
        ("documented", Self::Documented),
        ("measured", Self::Measured),
        ("inferred", Self::Inferred),
        ("predicted", Self::Predicted),
        ("calibrated", Self::Calibrated),
    ];

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

#[derive(Clone, Debug)]
pub(super) enum Run {
    /// Programs on their models, and what is looked at of all of them together.
    Seen {
        experiments: Vec<(String, Program)>,
        sees: Vec<See>,
    },
    /// `punctual simulate robustness`, which is no single program.
    Robustness,
}

impl Run {
    pub(super) fn sees(&self) -> &[See] {
        match self {
            Self::Seen { sees, .. } => sees,
            Self::Robustness => &[],
        }
    }

    /// Whether it can be other than expected.
    pub(super) fn is_held(&self) -> bool {
        matches!(self, Self::Robustness) || self.sees().iter().any(See::is_held)
    }

    /// The programs of both, seen as these here.
    pub(super) fn and(mut self, other: Self) -> Self {
        if let (
            Self::Seen { experiments, .. },
            Self::Seen {
                experiments: more, ..
            },
        ) = (&mut self, other)
        {
            experiments.extend(more);
        }
        self
    }
}

/// What came of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What the model did.
    pub got: String,
    /// Whether that is what was expected, within the tolerance.
    pub holds: bool,
}

impl Row {
    /// Does it on a model. Always the same.
    ///
    /// # Errors
    /// The model refuses it, or there is nothing to look at.
    pub fn run(&self) -> Result<Finding, Refusal> {
        let mut figures = Vec::new();
        for run in &self.runs {
            match run {
                Run::Seen { experiments, sees } => see::figures(experiments, sees, &mut figures)?,
                Run::Robustness => figures.push(robustness::figure()?),
            }
        }
        let got = match &self.got {
            Some(text) => (1..)
                .zip(&figures)
                .fold(text.clone(), |text, (nth, figure)| {
                    text.replace(&format!("{{{nth}}}"), &figure.shown)
                }),
            None => {
                let loud = figures.iter().filter(|figure| !figure.quiet);
                let loud: Vec<_> = loud.map(|figure| figure.shown.as_str()).collect();
                loud.join(" / ")
            }
        };
        Ok(Finding {
            got,
            holds: figures.iter().all(|figure| figure.holds),
        })
    }
}
