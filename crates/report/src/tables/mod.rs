//! The tables of the text report, one experiment per file.
//!
//! Each takes the measurements of its experiment and gives sections of text:
//! what it is, the table on a [`grid`], and below it in words what its numbers
//! mean and why some of them are missing ([`blank`]).

mod blank;
mod cost;
mod decades;
mod expectations;
mod frames;
mod generic;
mod grid;
mod interval;
mod learned;
mod naps;
mod pace;
mod robustness;
mod scenario;

pub(crate) use decades::decades;
pub(crate) use expectations::expectations;
pub(crate) use frames::frames;
pub(crate) use generic::generic;
pub(crate) use interval::interval;
pub(crate) use learned::learned;
pub(crate) use naps::naps;
pub(crate) use pace::pace;
pub(crate) use robustness::robustness;
pub(crate) use scenario::scenario;

/// A table of words: the title, the head, and the rows, with cells broken so
/// that no line is longer than 120 characters.
pub fn table(title: &str, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut grid = grid::Grid::new(title, head).with_names(head.len());
    rows.into_iter().for_each(|row| grid.row(row));
    grid.within(120)
        .section::<&str>(&[], blank::Marks::default())
}
