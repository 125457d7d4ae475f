//! Yields: how long it takes to be back on the CPU.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row};
use crate::units;
use punctual_record::experiment::Yield;

/// A yield that takes longer let somebody else have a turn.
const LONG_NS: i64 = 1_000_000;

/// A line for yields alone and one for yields beside a competitor.
pub(crate) fn yields(measurements: &[Row<'_, Yield>]) -> Vec<String> {
    let mut grid = Grid::new(
        "yield: how long a yield takes",
        &[
            "call",
            "on its CPU",
            "n",
            "p50",
            "p90",
            "p99",
            "max",
            "longer than\n1 ms, %",
        ],
    )
    .with_names(2);
    let mut marks = Marks::default();
    for m in measurements {
        let late = &m.late_ns;
        let samples = &m.samples_late_ns;
        let long = samples.iter().filter(|&&ns| ns > LONG_NS).count();
        let share =
            (!samples.is_empty()).then(|| units::percent(long as f64 / samples.len() as f64));
        grid.row(vec![
            m.subject.clone(),
            select::company(m.of),
            late.n.to_string(),
            marks.percentile(m, late.p50),
            marks.percentile(m, late.p90),
            marks.percentile(m, late.p99),
            marks.measured(m, late.max as f64),
            marks.or_blank(share, Why::NotMeasured),
        ]);
    }
    let caption = "n: yields. on its CPU: whether a thread that computes shares the CPU of the one that yields.";
    vec![grid.section(&[caption], marks)]
}
