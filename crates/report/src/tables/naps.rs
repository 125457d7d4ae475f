//! Naps: how much longer they were than asked.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row, asked_ns};
use crate::units;
use punctual_record::experiment::Naps;

/// For each OS call: overshoot and CPU time by the length asked for.
pub(crate) fn naps(measurements: &[Row<'_, Naps>]) -> Vec<String> {
    let by_call = select::by_subject(measurements);
    let last = by_call.len().saturating_sub(1);
    by_call
        .iter()
        .enumerate()
        .map(|(i, (call, group))| with(call, group, i == last))
        .collect()
}

fn with(call: &str, group: &[Row<'_, Naps>], is_last: bool) -> String {
    let mut grid = Grid::new(
        format!("naps with {call}: how much longer they were than asked"),
        &[
            "asked",
            "n",
            "p50",
            "p90",
            "p99",
            "max",
            "CPU\nper nap",
            "wakes\nper nap",
        ],
    );
    let mut marks = Marks::default();
    for asked in select::values(group, asked_ns) {
        let Some(m) = select::at(group, asked_ns, asked) else {
            continue;
        };
        let late = &m.late_ns;
        grid.row(vec![
            units::nominal(asked),
            late.n.to_string(),
            marks.percentile(&m, late.p50),
            marks.percentile(&m, late.p90),
            marks.percentile(&m, late.p99),
            marks.measured(&m, late.max as f64),
            marks.cpu_based(&m.cpu, m.cpu.per_wait_ns.map(units::duration)),
            marks.or_blank(m.wakes_per_wait.map(units::plain), Why::NotCounted),
        ]);
    }
    let caption = "CPU: time billed to the thread, with the readings of the clock before and after. wakes: how \
         often the thread gave up its CPU, as the OS counted.";
    let caption = is_last.then_some(caption);
    grid.section(caption.as_slice(), marks)
}
