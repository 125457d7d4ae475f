//! On what the parameters of a model rest, in one sentence.

use serde::Deserialize;

use super::{Confidence, Model, Parameter};

/// The part of a simulated computer that a parameter decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// How long waits last.
    #[default]
    Lengths,
    /// The scheduling when there are more threads than CPUs.
    Load,
    /// The computer itself: its CPUs, and what things take.
    Computer,
}

/// With which computers the models of an OS were compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compared {
    /// The beginning of the names of its models.
    pub(super) of: &'static str,
    /// Such a computer, with its article.
    pub(super) computer: &'static str,
    /// The result; empty if it was never tried.
    pub(super) result: &'static str,
}

/// Where a source is a book, it names this one.
const BOOK: &str = "Windows Internals";

/// On what a model rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// How many parameters decide how long waits last, and how many of these are documented or
    /// measured by others.
    pub lengths: (usize, usize),
    /// The basis of the scheduling under load.
    pub scheduling: SchedulingBasis,
    /// The number of changed parameters, in words.
    pub set: String,
    /// The comparison with a computer: `not yet compared with a Mac`.
    pub compared: String,
}

/// On what the scheduling of a model rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulingBasis {
    /// No parameter decides it, or it is not used.
    Unused,
    /// Most of it rests on the book of this title.
    Book(&'static str),
    /// The number of its parameters, and how many of these are documented or measured by others.
    Parameters(usize, usize),
}

impl Model {
    /// On what the parameters that are at their defaults rest; `None` for a model without any.
    pub fn evidence(&self) -> Option<Evidence> {
        let name = self.name().split(',').next().unwrap_or_default();
        let known = Self::known().iter().find(|known| known.name == name)?;
        let (unset, set): (Vec<_>, Vec<_>) = self
            .parameters()
            .iter()
            .partition(|(of, value)| of.parse(of.default).as_ref() == Ok(value));
        let of_part = |part| -> Vec<&Parameter> {
            let all = unset.iter().map(|(of, _)| of);
            all.filter(|of| of.part == part).collect()
        };
        let (lengths, load) = (of_part(Part::Lengths), of_part(Part::Load));
        let is_of_book = |of: &&&Parameter| of.source.contains(BOOK);
        let from_book = load.iter().filter(is_of_book).count();
        let scheduling = match load.len() {
            0 => SchedulingBasis::Unused,
            all if from_book * 2 >= all => SchedulingBasis::Book(BOOK),
            all => SchedulingBasis::Parameters(all, sure(&load)),
        };
        let compared = known.compared();
        let computer = compared.computer;
        let compared = match compared.result {
            "" => format!("not yet compared with {computer}"),
            result => format!("{result} on {computer}"),
        };
        let set = match set.len() {
            0 => String::new(),
            1 => ". 1 more parameter is set for this run".to_owned(),
            n => format!(". {n} more parameters are set for this run"),
        };
        Some(Evidence {
            lengths: (lengths.len(), sure(&lengths)),
            scheduling,
            set,
            compared,
        })
    }
}

/// How many are documented or measured, and not inferred or guessed.
fn sure(parameters: &[&Parameter]) -> usize {
    let is_sure = |of: &&&Parameter| of.confidence <= Confidence::B;
    parameters.iter().filter(is_sure).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(model: &str) -> Evidence {
        Model::parse(model).unwrap().evidence().unwrap()
    }

    #[test]
    fn it_says_on_what_the_parameters_of_the_run_rest() {
        let windows = evidence("windows-11");
        let of_book = SchedulingBasis::Book("Windows Internals");
        assert_eq!(windows.scheduling, of_book);
        assert_eq!(windows.compared, "not yet compared with a Windows computer");
        let all = windows.lengths;
        assert!(all.1 > 0 && all.1 < all.0, "{windows:?}");
        // A value that the user set rests on the user.
        let set = evidence("windows-11,hardware=amd,slip=60");
        assert_eq!(set.set, ". 2 more parameters are set for this run");
        assert_eq!(set.lengths, (all.0 - 2, all.1));
        assert_eq!(evidence("windows-11,hardware=exact"), windows);
        assert_eq!(Model::parse("fake-5ms").unwrap().evidence(), None);
    }

    #[test]
    fn every_model_says_whether_it_was_compared() {
        for known in Model::known() {
            let compared = evidence(known.name).compared;
            assert!(compared.contains(known.compared().computer), "{compared}");
        }
    }
}
