//! The kinds of figures, and those that no experiment has for itself.
//!
//! Most figures are of one of four kinds. A `plot` has lines and points between two axes, a chart
//! has named [`rows`], a `heat` map has cells, and `panels` are charts below each other. Others
//! draw by themselves. All are drawn on a [`Sheet`](chart::Sheet), which gives them a title, a
//! caption and a name for screen readers. The [`chart`] lies between two [`axis`]es. A subject has
//! the same [`style`] in all figures of a run.

pub mod axis;
pub mod chart;
mod comparison;
pub(crate) mod heat;
pub(crate) mod panels;
pub mod plot;
pub mod rows;
pub mod style;
pub mod svg;
mod sweep;

use punctual_record::Run;

use crate::experiments;

pub use comparison::comparison_figures;
pub use sweep::sweep_figures;

/// A picture of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The name of its file, without an extension; different for each figure of a run.
    pub name: String,
    /// The picture: an SVG document.
    pub svg: String,
}

/// A figure whose name is what `words` make as part of a file's name.
pub fn figure(words: &str, svg: String) -> Figure {
    let mut name = String::new();
    for c in words.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c.to_ascii_lowercase());
        } else if c == '.' {
            // A point would begin an extension.
            name.push('_');
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    Figure {
        name: name.trim_end_matches('-').to_owned(),
        svg,
    }
}

/// Subjects can differ only in letters that are no part of a file's name.
pub fn make_names_unique(figures: &mut [Figure]) {
    for i in 1..figures.len() {
        let (before, rest) = figures.split_at_mut(i);
        let taken = |name: &str| before.iter().any(|f| f.name == name);
        let base = rest[0].name.clone();
        let mut number = 2;
        while taken(&rest[0].name) {
            rest[0].name = format!("{base}-{number}");
            number += 1;
        }
    }
}

/// The figures that a run of waits has data for. The file of each experiment says what they show.
///
/// Of several scenarios, each has its own figures, with its name. Values beyond an axis are drawn at
/// its end, and the caption says so.
pub(crate) fn of_waits(run: &Run) -> Vec<Figure> {
    let mut figures = experiments::figures(run);
    make_names_unique(&mut figures);
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_files_and_differ() {
        let mut figures: Vec<Figure> = ["frames-59.94Hz", "a (b/c)", "a b c", "a-b-c"]
            .map(|words| figure(words, String::new()))
            .into();
        make_names_unique(&mut figures);
        let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["frames-59_94hz", "a-b-c", "a-b-c-2", "a-b-c-3"]);
    }
}
