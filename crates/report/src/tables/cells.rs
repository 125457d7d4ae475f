//! Tables as cells, and how they are laid out as text.

use super::layout::{self, Layout};
use crate::prose;

/// A piece of a report: a table with its title and what its numbers mean, or words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// As text, laid out.
    pub text: String,
    /// The same for who lays it out otherwise, if it is a table.
    pub table: Option<Cells>,
}

/// A table that is not laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// The title.
    pub title: String,
    /// Names above columns next to each other, each with how many those are; the first
    /// column is not among them.
    pub groups: Vec<(String, usize)>,
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// Paragraphs below it.
    pub words: Vec<String>,
}

impl From<String> for Section {
    fn from(text: String) -> Self {
        Self { text, table: None }
    }
}

impl Section {
    /// The first line, which says what it is of.
    pub fn title(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }

    /// Adds lines of words below it.
    pub(crate) fn add(&mut self, lines: &str) {
        self.text += lines;
        if let Some(table) = &mut self.table {
            table
                .words
                .extend(lines.lines().map(|line| line.trim().to_owned()));
        }
    }

    /// All of these below each other.
    pub(crate) fn joined(sections: &[Self]) -> String {
        let texts = sections.iter().map(|section| section.text.as_str());
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Cells {
    /// The lines of the table and nothing else, none of them wider than that.
    pub(crate) fn lines(&self, within: usize) -> String {
        let layout = Layout {
            within: Some(within),
            ..Layout::default()
        };
        layout::lines(self, layout)
    }

    /// The same with words cut, so that each row has one line of that, if cutting words is enough.
    pub(crate) fn shortened(&self, within: usize) -> Self {
        layout::shortened(self, within)
    }

    /// Where groups begin, and how many columns each has.
    pub(super) fn begins(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let mut next = 1;
        self.groups.iter().map(move |(name, columns)| {
            let first = next;
            next += columns;
            (name.as_str(), first, *columns)
        })
    }
}

impl Section {
    /// A table with its title above and its words below, no wider than the page.
    pub(super) fn of(cells: Cells, layout: Layout) -> Self {
        let layout = Layout {
            within: layout.within.into_iter().chain(prose::columns()).min(),
            ..layout
        };
        let mut text = prose::paragraph(&cells.title);
        text += &layout::lines(&cells, layout);
        text.extend(cells.words.iter().map(|words| prose::paragraph(words)));
        let table = Some(cells);
        Self { text, table }
    }
}
