//! The outcome of a claim.

use punctual_program::Refusal;

use super::{Check, Claim};
use crate::validation::Row;

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The figure that came out; empty if there is no figure to compare.
    pub got: String,
    /// Whether that is what the article states.
    pub found: Found,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It does.
    Agrees,
    /// Something else comes out, and the reason is known.
    Otherwise,
    /// Something else comes out.
    Differs,
    /// There is no figure to compare.
    Shown,
    /// It is measured on the reader's computer.
    Here,
    /// It takes a computer with Windows.
    ByHand,
}

impl Found {
    /// In a word or two.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Otherwise | Self::Differs => "differs",
            Self::Shown => "shown",
            Self::Here => "measured here",
            Self::ByHand => "by hand",
        }
    }
}

/// The figure of a row, and whether it holds; `None` if there is no row of this name.
pub type Findings<'a> = &'a dyn Fn(&str) -> Option<Result<(String, bool), Refusal>>;

impl Claim {
    /// Computes the outcome with the rows of the simulated computers, and with those of simulated
    /// pools, which this crate does not know.
    ///
    /// # Errors
    /// A model refuses the row, or there is none of this name.
    pub fn told(&self, waits: &[Row], pools: Findings) -> Result<Told, Refusal> {
        let nothing = |found| {
            let got = String::new();
            Ok(Told { got, found })
        };
        let (id, shown) = match self.check {
            Check::Row { id, shown } => (id, shown),
            Check::Shown => return nothing(Found::Shown),
            Check::Here => return nothing(Found::Here),
            Check::ByHand => return nothing(Found::ByHand),
        };
        let (got, holds) = match waits.iter().find(|row| row.id == id) {
            Some(row) => {
                let finding = match shown {
                    "" => row.run()?,
                    shown => row.run_showing(shown)?,
                };
                (finding.got, finding.holds)
            }
            None => pools(id).unwrap_or_else(|| Err(Refusal::new(format!("no row {id}"))))?,
        };
        let found = match (self.why, holds) {
            ("", true) => Found::Agrees,
            ("", false) => Found::Differs,
            _ => Found::Otherwise,
        };
        Ok(Told { got, found })
    }
}

/// The first figure of an outcome, with at most three decimals.
pub fn brief(got: &str) -> String {
    let first = [", ", "; ", " / "].iter().fold(got, |text, end| {
        text.split_once(end).map_or(text, |(first, _)| first)
    });
    let rounded = first.split(' ').map(|word| match word.split_once('.') {
        Some((_, decimals)) if decimals.len() > 3 => match word.parse::<f64>() {
            Ok(number) => format!("{number:.3}"),
            Err(_) => word.to_owned(),
        },
        _ => word.to_owned(),
    });
    rounded.collect::<Vec<_>>().join(" ")
}
