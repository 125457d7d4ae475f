//! The figures, one per file.
//!
//! Each is drawn on a [`sheet`], which gives it a title, a caption and a name
//! for screen readers, in a [`chart`] between two [`axis`]es, and with a
//! [`style`] per subject that is the same in all figures of a run.

mod all;
mod axis;
mod by_length;
mod chart;
mod clocks;
mod comparison;
mod cores;
mod cost;
mod decades;
mod doctor;
mod figure;
mod frames;
mod gap;
mod idle;
mod interval;
mod lines;
mod load;
mod margin;
mod robustness;
mod rows;
mod sheet;
mod sleep;
mod sleeps;
mod style;
mod timers;
mod watch;
mod yields;
mod zero_predicted;
mod zero_probe;
mod zero_scaling;
mod zero_split;
mod zero_words;

pub(crate) use all::{of_waits, of_zeroing};
pub use comparison::comparison_figures;
pub use figure::Figure;
