//! The figures, one per file.
//!
//! Most are a description: a `plot` of lines and points between two axes, a
//! chart of named [`rows`], a `heat` map, or panels of `bars`; others draw by
//! themselves, in `panels` below each other. Each is drawn on a [`sheet`], which
//! gives it a title, a caption and a name for screen readers, in a [`chart`]
//! between two [`axis`]es, and with a [`style`] per subject that is the same in
//! all figures of a run.

mod all;
pub mod axis;
mod bars;
mod by_length;
pub mod chart;
mod clocks;
mod comparison;
mod cores;
mod cost;
mod distribution;
mod doctor;
pub mod figure;
mod frames;
mod gap;
mod heat;
mod idle;
mod interval;
mod load;
mod margin;
mod panels;
mod plot;
mod robustness;
pub mod rows;
pub mod sheet;
mod sleeps;
pub mod style;
pub mod svg;
mod sweep;
mod timers;
mod watch;
mod yields;

pub(crate) use all::of_waits;
pub use comparison::comparison_figures;
pub use figure::Figure;
pub use sweep::sweep_figures;
