//! The figures of page zeroing.

mod predicted;
mod probe;
mod scaling;
mod split;
mod words;

use punctual_record::Run;
use punctual_report::figures::figure::{Figure, make_names_unique};

use crate::rows::ZeroRow;

/// The figures that a run of page zeroing has data for:
///
/// - `zero-scaling`: what pools zero per second of CPU time by their threads, a
///   panel per batch;
/// - `zero-split`: where the CPU time of the largest pools went;
/// - `zero-predicted`: what was predicted of all pools, against what came out;
/// - `zero-probe-pages`: what a page costs, by the step;
/// - `zero-probe-blocks`: what a MiB costs, by the size of the block.
///
/// Pools of several kinds of memory, kernels or computers have their own.
pub(super) fn all(run: &Run<ZeroRow>) -> Vec<Figure> {
    let mut figures = scaling::scaling(run);
    figures.extend(split::split(run));
    figures.extend(predicted::predicted(run));
    figures.extend(probe::probe(run));
    make_names_unique(&mut figures);
    figures
}
