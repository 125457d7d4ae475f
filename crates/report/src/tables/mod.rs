//! The tables of the text report, one experiment per file.
//!
//! Each takes the measurements of its experiment and gives sections of text:
//! what it is, the table on a [`grid`], and below it in words what its numbers
//! mean and why some of them are missing ([`blank`]).

pub mod blank;
mod clocks;
mod comparison;
mod cores;
mod cost;
mod decades;
mod doctor;
mod expectations;
mod frames;
mod gap;
pub mod grid;
mod interval;
mod learned;
mod load;
mod naps;
mod pace;
mod regimes;
mod robustness;
mod scenario;
mod sleep;
mod timers;
mod watch;
mod yields;

use punctual_record::Mode;

use crate::histogram::is_common;
use crate::units;

pub(crate) use clocks::clocks;
pub use comparison::{Compared, Shows, param_in_words};
pub(crate) use comparison::{comparison, label_of, published_in_words, published_label, sources};
pub(crate) use cores::cores;
pub use cost::interval_in_words;
pub(crate) use decades::decades;
pub(crate) use doctor::doctor;
pub(crate) use expectations::expectations;
pub(crate) use frames::frames;
pub(crate) use gap::gap;
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
pub(crate) use watch::{CAUSES, watch};
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
}

/// So many modes are told in a cell; of more, that there are others.
const SHOWN_MODES: usize = 4;

/// The common lengths of sleeps: `2.00 ms x 61 % (2 ticks)`. Those of a few
/// samples are left to the histogram.
fn modes_in_words(modes: &[Mode]) -> Option<String> {
    let common = || modes.iter().filter(|mode| is_common(mode));
    let told = common().take(SHOWN_MODES).map(|mode| {
        let length = units::duration(mode.center_ns as f64);
        let ticks = match mode.ticks {
            Some(1) => " (1 tick)".to_owned(),
            Some(ticks) => format!(" ({ticks} ticks)"),
            None => String::new(),
        };
        format!("{length} x {:.0} %{ticks}", mode.share * 100.0)
    });
    let mut text = told.collect::<Vec<_>>().join(", ");
    if common().count() > SHOWN_MODES {
        text += ", ...";
    }
    Some(text).filter(|text| !text.is_empty())
}
