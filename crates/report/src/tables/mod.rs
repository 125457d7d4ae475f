//! The layout of tables, and those that no experiment has for itself.
//!
//! A section of text is a [`table`](mod@table) by declaration, with columns over typed rows. The
//! common ones are in `columns`. The text explains the numbers, and why some are missing.

mod cells;
pub(crate) mod columns;
mod comparison;
pub(crate) mod cost;
mod layout;
mod learned;
pub mod table;

pub use cells::{Cells, Section};
pub use comparison::{Compared, Shows, comparison, comparison_sections, param_in_words};
pub(crate) use comparison::{common, label_of, published_in_words, published_label, ratios, times};
pub use cost::interval_in_words;
pub(crate) use cost::ratio_within;
pub(crate) use learned::learned;

use crate::prose;
use table::Table;

/// The width of a page.
const WIDTH: usize = 120;

/// The width of a page, or of the terminal if that is less.
pub fn width() -> usize {
    prose::columns().map_or(WIDTH, |columns| columns.min(WIDTH))
}

/// A table of words: the title, the head, and the rows, with cells broken so
/// that no line is longer than 120 characters.
pub fn table(title: &str, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let columns = head.iter().enumerate().map(|(i, head)| (*head, i));
    Table::new(title, &rows)
        .names(head.len())
        .each(columns, |row, i| {
            row.get(*i).map_or("", String::as_str).to_owned()
        })
        .within(width())
        .section()
        .text
}
