//! Yields: how long it takes to be back on the CPU.

use punctual_record::experiment::Yield;

use super::columns::{MAX, N, P50, P90, P99, SUBJECT, named};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row};
use crate::units;

/// A yield that takes longer let somebody else have a turn.
const LONG_NS: i64 = 1_000_000;

/// A line for yields alone and one for yields beside a competitor.
pub(crate) fn yields(measurements: &[Row<'_, Yield>]) -> Vec<Passage> {
    let table = Table::new("yield: how long a yield takes", measurements)
        .names(2)
        .told([named("call", SUBJECT)])
        .column("on its CPU", |m| select::company(m.of))
        .told([N, P50, P90, P99, MAX])
        .column("longer than\n1 ms, %", |m| {
            let samples = &m.samples_late_ns;
            let long = samples.iter().filter(|&&ns| ns > LONG_NS).count();
            (!samples.is_empty()).then(|| units::percent(long as f64 / samples.len() as f64))
        })
        .caption("n: yields. on its CPU: whether a thread that computes shares the CPU of the one that yields.");
    vec![table.section()]
}
