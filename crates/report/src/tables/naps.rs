//! Naps: how much longer they were than asked.

use punctual_record::experiment::Naps;

use super::blank::Why;
use super::columns::{CPU_PER_WAIT, MAX, N, P50, P90, P99, named};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row, asked_ns};
use crate::units;

const CAPTION: &str = "CPU: time billed to the thread, with the readings of the clock before and after. wakes: how \
    often the thread gave up its CPU, as the OS counted.";

/// For each OS call: overshoot and CPU time by the length asked for.
pub(crate) fn naps(measurements: &[Row<'_, Naps>]) -> Vec<Passage> {
    let calls = select::by_subject(measurements);
    let table = |(i, (call, group)): (usize, &(&str, Vec<Row<'_, Naps>>))| {
        let title = format!("naps with {call}: how much longer they were than asked");
        Table::new(title, &select::ascending(group, asked_ns))
            .column("asked", |m| units::nominal(asked_ns(m.of)))
            .told([N, P50, P90, P99, MAX, named("CPU\nper nap", CPU_PER_WAIT)])
            .column("wakes\nper nap", |m| m.wakes_per_wait.map(units::plain))
            .blank(Why::NotCounted)
            .captions((i + 1 == calls.len()).then_some(CAPTION))
            .section()
    };
    calls.iter().enumerate().map(table).collect()
}
