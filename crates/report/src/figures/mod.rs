//! The figures, one per file.
//!
//! Each is drawn on a [`sheet`], which gives it a title, a caption and a name
//! for screen readers, in a [`chart`] between two [`axis`]es, and with a
//! [`style`] per subject that is the same in all figures of a run.

mod all;
mod axis;
mod chart;
mod cost;
mod decades;
mod figure;
mod frames;
mod idle;
mod interval;
mod lines;
mod margin;
mod robustness;
mod sheet;
mod sleeps;
mod style;

pub use all::figures;
pub use figure::Figure;
