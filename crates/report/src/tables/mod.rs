//! The tables of the text report, one experiment per file.
//!
//! Each takes the measurements of its experiment and gives sections of text:
//! what it is, the table on a [`grid`], and below it in words what its numbers
//! mean and why some of them are missing ([`blank`]).

mod blank;
mod cost;
mod decades;
mod frames;
mod generic;
mod grid;
mod interval;
mod pace;
mod robustness;

pub(crate) use decades::decades;
pub(crate) use frames::frames;
pub(crate) use generic::generic;
pub(crate) use interval::interval;
pub(crate) use pace::pace;
pub(crate) use robustness::robustness;
