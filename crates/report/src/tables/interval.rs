//! CPU time by the length of the interval.

use punctual_record::experiment::IntervalLength;

use super::columns::{CPU, counts};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row};
use crate::units;

/// CPU time billed by the interval between two waits, a column per subject.
pub(crate) fn interval(measurements: &[Row<'_, IntervalLength>]) -> Vec<Passage> {
    let periods = select::by_value(measurements, |of| of.period_ns as f64);
    let table = Table::new(
        "interval: CPU % by the interval between two waits",
        &periods,
    )
    .column("interval\nms", |(period, _)| units::plain(period / 1e6))
    .column("n", |(_, of_period)| counts(of_period))
    .each(select::subjects(measurements), |(_, of_period), subject| {
        select::of_subject(of_period, subject).map(|m| CPU.1(&m))
    })
    .caption("CPU time billed to the thread, in % of the time that passed; n waits each.");
    vec![table.section()]
}
