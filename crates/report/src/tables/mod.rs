//! The tables of the text report, one experiment per file.
//!
//! Each takes the measurements of its experiment and gives sections of text. A
//! section is a [`table`](mod@table) by declaration: its columns over typed
//! rows, of which `columns` has those that any measurement can have, and in
//! words what its numbers mean. Why some are missing is in [`blank`]; a
//! `grid` lays all that out.

pub mod blank;
mod clocks;
mod columns;
mod comparison;
mod cores;
mod cost;
mod decades;
mod doctor;
mod expectations;
mod frames;
mod gap;
pub(crate) mod grid;
mod interval;
mod learned;
mod load;
mod naps;
mod pace;
mod regimes;
mod robustness;
mod scenario;
mod sleep;
pub mod table;
mod timers;
mod watch;
mod yields;

pub(crate) use clocks::clocks;
pub use comparison::{Compared, Shows, param_in_words};
pub(crate) use comparison::{
    common, comparison, label_of, published_in_words, published_label, ratios, sources, times,
};
pub(crate) use cores::cores;
pub use cost::interval_in_words;
pub(crate) use cost::ratio_within;
pub(crate) use decades::decades;
pub(crate) use doctor::{REFERENCE, doctor};
pub(crate) use expectations::expectations;
pub(crate) use frames::frames;
pub(crate) use gap::{gap, growth};
pub use grid::{Cells, Passage};
pub(crate) use interval::interval;
pub(crate) use learned::learned;
pub(crate) use load::load;
pub(crate) use naps::naps;
pub(crate) use pace::pace;
pub(crate) use regimes::regimes;
pub(crate) use robustness::robustness;
pub(crate) use scenario::scenario;
pub(crate) use sleep::sleep;
pub(crate) use timers::timers;
pub(crate) use watch::{CAUSES, HOW_NAMED, watch, who_had_it};
pub(crate) use yields::yields;

/// What a terminal and a page hold.
pub const WIDTH: usize = 120;

/// A table of words: the title, the head, and the rows, with cells broken so
/// that no line is longer than 120 characters.
pub fn table(title: &str, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut grid = grid::Grid::new(title, head).with_names(head.len());
    rows.into_iter().for_each(|row| grid.row(row));
    grid.within(WIDTH as u16)
        .section::<&str>(&[], blank::Marks::default())
        .text
}
