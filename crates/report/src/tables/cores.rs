//! CPUs: how late a wait ends on each.

use punctual_record::experiment::Cores;

use super::blank::Why;
use super::columns::{MAX, N, P50, P90, P99, SUBJECT, named};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row, asked_ns};
use crate::units;

/// A line for each CPU, with its type.
pub(crate) fn cores(measurements: &[Row<'_, Cores>]) -> Vec<Passage> {
    let lengths = select::grouped(measurements.iter().copied(), |m| asked_ns(m.of));
    let tables = lengths
        .iter()
        .map(|(asked, group)| of_length(*asked, group));
    tables.collect()
}

fn of_length(asked: f64, group: &[Row<'_, Cores>]) -> Passage {
    let asked = units::nominal(asked);
    Table::new(
        format!("cores: lateness of a wait asked for {asked} on each CPU"),
        group,
    )
    .names(2)
    .told([named("CPU", SUBJECT)])
    .column("type", |m| m.of.core_type.clone())
    .blank(Why::NotStated)
    .told([N, P50, P90, P99, MAX])
    .caption("n: waits of a thread that is pinned to the CPU.")
    .captions(extremes(group))
    .section()
}

/// The quickest and the slowest.
fn extremes(group: &[Row<'_, Cores>]) -> Option<String> {
    let medians = || {
        let rows = group.iter();
        rows.filter_map(|m| Some((m.late_ns.p50?, m.m.subject.as_str())))
    };
    let ((low, quick), (high, slow)) = (medians().min()?, medians().max()?);
    let [low, high] = [low, high].map(units::duration);
    (quick != slow).then(|| format!("Lowest p50: {low}, {quick}. Highest: {high}, {slow}."))
}
