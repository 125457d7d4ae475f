//! On what the parameters of a model rest, in one sentence.

use std::fmt::Write as _;

use serde::Deserialize;

use super::{Confidence, Model, Parameter};

/// What of a simulated computer a parameter decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// How long waits last.
    #[default]
    Lengths,
    /// Who runs when there are more threads than CPUs.
    Load,
    /// The computer itself: its CPUs, and what things take.
    Computer,
}

/// With which computers the models of an OS were compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compared {
    /// What the names of its models begin with.
    pub(super) of: &'static str,
    /// Such a computer, with its article.
    pub(super) computer: &'static str,
    /// What came of it; empty if nobody did.
    pub(super) result: &'static str,
}

/// Where a source is a book, it names this one.
const BOOK: &str = "Windows Internals";

impl Model {
    /// On what the parameters that are in force rest, and whether models of this OS were ever
    /// compared with a computer; `None` for a model without parameters.
    pub fn evidence(&self) -> Option<String> {
        let name = self.name().split(',').next().unwrap_or_default();
        let known = Self::known().iter().find(|known| known.name == name)?;
        let parameters = || self.parameters().iter();
        let set = parameters().filter(|(of, value)| of.parse(of.default).as_ref() != Ok(value));
        let set = set.count();
        let of_part = |part| -> Vec<&Parameter> {
            let unset =
                parameters().filter(|(of, value)| of.parse(of.default).as_ref() == Ok(value));
            let unset = unset.map(|(of, _)| of);
            unset.filter(|of| of.part == part).collect()
        };
        let mut text = format!("sleep lengths {}", basis(&of_part(Part::Lengths)));
        let load = of_part(Part::Load);
        if !load.is_empty() {
            _ = write!(text, "; behaviour under load {}", basis(&load));
        }
        let compared = known.compared();
        match compared.result {
            "" => _ = write!(text, "; never compared with {}", compared.computer),
            result => _ = write!(text, "; compared with {}: {result}", compared.computer),
        }
        if set > 0 {
            let s = if set == 1 { "" } else { "s" };
            _ = write!(text, "; {set} parameter{s} as set");
        }
        Some(text)
    }
}

/// On what most of some parameters rest.
fn basis(parameters: &[&Parameter]) -> String {
    let all = parameters.len();
    let from = |sure: Confidence| parameters.iter().filter(|of| of.confidence == sure).count();
    let from_book = parameters
        .iter()
        .filter(|of| of.source.contains(BOOK))
        .count();
    let (documented, measured) = (from(Confidence::A), from(Confidence::B));
    if all == 0 {
        return "as set".to_owned();
    }
    if from_book * 2 >= all {
        return "from a book".to_owned();
    }
    let how = match (documented, measured) {
        (0, _) => "measured by others",
        (_, 0) => "documented",
        _ => "documented or measured by others",
    };
    match documented + measured {
        0 => "inferred or guessed".to_owned(),
        known if known == all => how.to_owned(),
        known => format!("{how} in {known} of {all} parameters"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(model: &str) -> String {
        Model::parse(model).unwrap().evidence().unwrap()
    }

    #[test]
    fn it_says_on_what_the_parameters_of_the_run_rest() {
        let windows = evidence("windows-11");
        assert!(windows.starts_with("sleep lengths "), "{windows}");
        assert!(
            windows.contains("; behaviour under load from a book; "),
            "{windows}"
        );
        assert!(
            windows.ends_with("never compared with a Windows computer"),
            "{windows}"
        );
        // What is set rests on whoever set it.
        let set = evidence("windows-11,hardware=amd,slip=60");
        assert!(set.ends_with("; 2 parameters as set"), "{set}");
        assert_ne!(set.split(';').next(), windows.split(';').next());
        assert_eq!(evidence("windows-11,hardware=exact"), windows);
        assert!(Model::parse("fake-5ms").unwrap().evidence().is_none());
    }

    #[test]
    fn every_model_says_whether_it_was_compared() {
        for known in Model::known() {
            assert!(
                evidence(known.name).contains("compared with "),
                "{}",
                known.name
            );
        }
    }
}
