//! Lays out one table with its title and the words below it.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

use super::blank::Marks;
use crate::prose;

/// Only a line below the head: the columns are told apart by the space between
/// them.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// A table: its first column is to the left, as it holds names, and the others
/// are to the right, as they hold numbers.
pub(crate) struct Grid {
    title: String,
    table: Table,
    groups: Vec<Group>,
}

/// A piece of a report: a table with its title and what its numbers mean, or words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// As text, laid out.
    pub text: String,
    /// The same for who lays it out otherwise, if it is a table.
    pub table: Option<Cells>,
}

/// A table that is not laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// What it is of.
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

impl From<String> for Passage {
    fn from(text: String) -> Self {
        Self { text, table: None }
    }
}

impl Passage {
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
    pub(crate) fn joined(passages: &[Self]) -> String {
        let texts: Vec<&str> = passages
            .iter()
            .map(|passage| passage.text.as_str())
            .collect();
        texts.join("\n")
    }
}

/// Columns next to each other with a name above them.
struct Group {
    name: String,
    columns: std::ops::Range<usize>,
}

/// The space between two columns, and more between two groups.
const BETWEEN: usize = 2;
const BETWEEN_GROUPS: usize = 4;

impl Grid {
    /// An empty table. A line feed in the head of a column breaks it.
    pub(crate) fn new<S: AsRef<str>>(title: impl Into<String>, head: &[S]) -> Self {
        let mut table = Table::new();
        table
            .load_style(STYLE)
            .set_header(head.iter().map(AsRef::as_ref).collect::<Vec<&str>>());
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding(if i == 0 { (0, 0) } else { (1, 0) });
            column.set_cell_alignment(if i == 0 {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
        }
        Self {
            title: title.into(),
            table,
            groups: vec![],
        }
    }

    /// This grid with the first columns to the left, as they hold names.
    pub(crate) fn with_names(mut self, columns: usize) -> Self {
        for column in self.table.column_iter_mut().take(columns) {
            column.set_cell_alignment(CellAlignment::Left);
        }
        self
    }

    /// This grid with the last column to the left, as it holds words.
    pub(crate) fn with_words_last(mut self) -> Self {
        if let Some(column) = self.table.column_iter_mut().last() {
            column.set_cell_alignment(CellAlignment::Left);
            column.set_padding((2, 0));
        }
        self
    }

    /// This grid in lines of at most `width` characters, for which cells are
    /// broken.
    pub(crate) fn within(mut self, width: u16) -> Self {
        self.table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
        self
    }

    /// Groups the columns after the first: so many of them for each name.
    pub(crate) fn group(&mut self, names: &[&str], columns: usize) {
        for (i, name) in names.iter().enumerate() {
            let first = 1 + i * columns;
            if let Some(column) = self.table.column_mut(first) {
                column.set_padding(((BETWEEN_GROUPS - 1) as u16, 0));
            }
            self.groups.push(Group {
                name: (*name).to_owned(),
                columns: first..first + columns,
            });
        }
    }

    /// How wide the table is.
    pub(crate) fn width(&self) -> usize {
        let mut lines = self.table.lines();
        lines.next().map_or(0, |line| line.chars().count())
    }

    /// Makes groups as wide as their names, and returns the names above them.
    fn names_of_groups(&mut self) -> String {
        let widths = self.table.column_max_content_widths();
        let mut widths: Vec<usize> = widths.into_iter().map(usize::from).collect();
        let mut text = String::new();
        let mut at = widths.first().copied().unwrap_or(0);
        for group in &self.groups {
            let own: usize = widths[group.columns.clone()].iter().sum();
            let own = own + BETWEEN * (group.columns.len() - 1);
            let lacking = group.name.chars().count().saturating_sub(own);
            let last = group.columns.end - 1;
            widths[last] += lacking;
            if let Some(column) = self.table.column_mut(last) {
                let width = Width::Fixed(u16::try_from(widths[last]).unwrap_or(u16::MAX));
                column.set_constraint(ColumnConstraint::LowerBoundary(width));
            }
            at += BETWEEN_GROUPS;
            let indent = " ".repeat(at - text.chars().count());
            text += &format!("{indent}{}", group.name);
            at += own + lacking;
        }
        text.push('\n');
        text
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.table.add_row(cells);
    }

    /// The table by itself.
    pub(crate) fn bare(&self) -> String {
        let lines = self.table.lines();
        lines
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    }

    /// The section: the title, the table, the caption, and what the marks mean.
    pub(crate) fn section<S: AsRef<str>>(mut self, caption: &[S], marks: Marks) -> Passage {
        let mut text = prose::paragraph(&self.title);
        if !self.groups.is_empty() {
            text += &self.names_of_groups();
        }
        text += &self.bare();
        let words = caption.iter().map(|words| words.as_ref().to_owned());
        let words: Vec<String> = words.chain(marks.in_words()).collect();
        text.extend(words.iter().map(|words| prose::paragraph(words)));
        let groups = self.groups.iter();
        let cells =
            |row: &comfy_table::Row| row.cell_iter().map(comfy_table::Cell::content).collect();
        let table = Cells {
            title: self.title.clone(),
            groups: groups
                .map(|group| (group.name.clone(), group.columns.len()))
                .collect(),
            head: self.table.header().map_or(vec![], cells),
            rows: self.table.row_iter().map(cells).collect(),
            words,
        };
        Passage {
            text,
            table: Some(table),
        }
    }
}
