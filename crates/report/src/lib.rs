//! The results of punctual, for people to read.
//!
//! Pure: a [`Run`](punctual_record::Run) goes in, text or SVG comes out, and
//! the same run gives the same bytes. Nothing here looks at a terminal, a font
//! or a clock.
//!
//! - [`text()`] is the report: the machine, a table per experiment with what its
//!   numbers mean, and at the end the warnings with their remedies. The tables
//!   lie in `tables`.
//!   Of a run of `punctual doctor` it is the diagnosis, which lies in [`doctor`].
//!   [`explained`] adds what the strategies had learned by then.
//! - [`verdict()`] is the answer in one screen: sentences that the numbers support, one table, and
//!   the next step. [`tables_named`] are further tables of the report by name.
//! - [`Page`] is Runs as one HTML file: answers, figures and tables.
//! - [`histogram`] and [`histogram_of`] are distributions for a terminal.
//! - [`figures()`] draws what the run has data for. The figures lie in `figures`,
//!   on sheets that give all of them a title, axes with units, a legend and a caption.
//! - [`comparison`] is several runs side by side as text, and
//!   [`comparison_figures`] the same as figures.
//! - [`sweep_verdict`], [`sweep_cells`] and [`sweep_figures`] are the same of a sweep, which is no Run.
//!
//! The lab finds numbers; their sentences are made here. [`warnings()`], [`disturbed()`] and
//! [`not_done()`] state what a reader has to know before, [`doctor::in_words`] a doctor's
//! findings, and [`hiccup()`] the cause of a late wait.
//!
//! [`select`] finds the measurements of an experiment in a run, [`units`] writes their
//! numbers, and [`prose`] breaks their captions into lines. Other products than waiting
//! implement [`Report`] for their rows with these and with what [`tables`] and
//! [`mod@figures`] have of tables, sheets, charts and axes.
//!
//! ```
//! use punctual_record::Run;
//!
//! let run: Run = Run::default();
//! assert!(punctual_report::text(&run).contains("This run has no results."));
//! assert!(punctual_report::figures(&run).is_empty());
//! ```

#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod doctor;
mod experiments;
#[cfg(not(target_family = "wasm"))]
pub mod figures;
mod histogram;
#[cfg(not(target_family = "wasm"))]
mod page;
pub mod prose;
pub mod select;
mod sweep;
pub mod tables;
pub mod text;
pub mod units;
pub mod verdict;
mod warnings;

pub use experiments::trace::part_names;
#[cfg(not(target_family = "wasm"))]
pub use figures::{Figure, comparison_figures, sweep_figures};
pub use histogram::{histogram, histogram_of};
#[cfg(not(target_family = "wasm"))]
pub use page::Page;
pub use prose::within_columns;
pub use sweep::{sweep_cells, sweep_verdict};
pub use tables::{comparison, comparison_sections, table};
#[cfg(not(target_family = "wasm"))]
pub use text::figures;
pub use text::{Report, explained, tables_named, text, verdict};
pub use verdict::{Overview, Verdict, comparison_verdict};
pub use warnings::{Setting, clock_step, disturbed, hiccup, not_done, too_few_rounds, warnings};
