//! Lays out one table with its title and the words below it.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

use super::blank::Marks;
use crate::prose;

/// Only a line below the head: the columns are told apart by the space between
/// them.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// A table: its first column is to the left, as it holds names, and the others
/// are to the right, as they hold numbers.
pub(super) struct Grid {
    title: String,
    table: Table,
}

impl Grid {
    /// An empty table. A line feed in the head of a column breaks it.
    pub(super) fn new<S: AsRef<str>>(title: impl Into<String>, head: &[S]) -> Self {
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
        }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.table.add_row(cells);
    }

    /// The section: the title, the table, the caption, and what the marks mean.
    pub(super) fn section<S: AsRef<str>>(self, caption: &[S], marks: Marks) -> String {
        let mut text = prose::paragraph(&self.title);
        for line in self.table.lines() {
            text += line.trim_end();
            text.push('\n');
        }
        for sentence in caption {
            text += &prose::paragraph(sentence.as_ref());
        }
        for mark in marks.in_words() {
            text += &prose::paragraph(&mark);
        }
        text
    }
}
