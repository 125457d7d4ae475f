//! Tables as cells, and how they are laid out as text.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};

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

/// Only a line below the head: the columns are told apart by the space between them.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// The space between two columns, and more between two groups.
const BETWEEN: usize = 2;
const BETWEEN_GROUPS: usize = 4;

/// How cells are laid out.
#[derive(Clone, Copy, Default)]
pub(super) struct Layout {
    /// So many columns at the left hold names, and the first does in any case; the others hold
    /// numbers, and are to the right.
    pub(super) names: usize,
    pub(super) words_last: bool,
    /// Lines are no longer, for which cells are broken.
    pub(super) within: Option<usize>,
}

impl Cells {
    /// The lines of the table and nothing else.
    pub(crate) fn lines(&self) -> String {
        lines(&self.laid_out(Layout::default()))
    }

    /// Where groups begin, and how many columns each has.
    fn begins(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        let mut next = 1;
        self.groups.iter().map(move |(name, columns)| {
            let first = next;
            next += columns;
            (name.as_str(), first, *columns)
        })
    }

    pub(super) fn laid_out(&self, layout: Layout) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE).set_header(&self.head);
        let last = self.head.len().saturating_sub(1);
        for (i, column) in table.column_iter_mut().enumerate() {
            let is_words = layout.words_last && i == last;
            let is_left = i < layout.names.max(1) || is_words;
            column.set_cell_alignment(match is_left {
                true => CellAlignment::Left,
                false => CellAlignment::Right,
            });
            let begins = self.begins().any(|(_, first, _)| first == i);
            let before = match (i, is_words) {
                (_, true) => 2,
                (0, _) => 0,
                _ if begins => BETWEEN_GROUPS as u16 - 1,
                _ => 1,
            };
            column.set_padding((before, 0));
        }
        table.add_rows(&self.rows);
        if let Some(width) = layout.within {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        table
    }

    /// Makes groups as wide as their names, and returns the names above them.
    fn names_of_groups(&self, table: &mut comfy_table::Table) -> String {
        let widths = table.column_max_content_widths();
        let mut widths: Vec<usize> = widths.into_iter().map(usize::from).collect();
        let mut text = String::new();
        let mut at = widths.first().copied().unwrap_or(0);
        for (name, first, columns) in self.begins() {
            let own: usize = widths[first..first + columns].iter().sum();
            let own = own + BETWEEN * (columns - 1);
            let lacking = name.chars().count().saturating_sub(own);
            let last = first + columns - 1;
            widths[last] += lacking;
            if let Some(column) = table.column_mut(last) {
                let width = Width::Fixed(u16::try_from(widths[last]).unwrap_or(u16::MAX));
                column.set_constraint(ColumnConstraint::LowerBoundary(width));
            }
            at += BETWEEN_GROUPS;
            let indent = " ".repeat(at - text.chars().count());
            text += &format!("{indent}{name}");
            at += own + lacking;
        }
        text.push('\n');
        text
    }
}

fn lines(table: &comfy_table::Table) -> String {
    let lines = table.lines();
    lines
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

impl Section {
    /// A table with its title above and its words below.
    pub(super) fn of(cells: Cells, layout: Layout) -> Self {
        let mut table = cells.laid_out(layout);
        let mut text = prose::paragraph(&cells.title);
        if !cells.groups.is_empty() {
            text += &cells.names_of_groups(&mut table);
        }
        text += &lines(&table);
        text.extend(cells.words.iter().map(|words| prose::paragraph(words)));
        let table = Some(cells);
        Self { text, table }
    }
}
