//! Waits on a loaded computer: how late they are, and where the time went.

use punctual_record::Measurement;
use punctual_record::experiment::Load;

use super::columns::{MAX, MEAN, N, P50, P99, QUEUED, STOLEN, counted, named};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row, asked_ns};
use crate::units;

const CAPTION: &str = "load: threads that compute, for each CPU. waited: the time per wait that the thread could run \
    and had no CPU. stolen: the time per wait that a hypervisor gave the CPU to somebody else, which is \
    counted in steps of 10 ms. unexplained: the mean less these two; timer slack and waking up are in it.";

/// For each call: lateness by load and priority, split as far as the OS counts.
pub(crate) fn load(measurements: &[Row<'_, Load>]) -> Vec<Passage> {
    let calls = select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), asked_ns(m.of))
    });
    let last = calls.len().saturating_sub(1);
    let table = |(i, call): (usize, &(_, Vec<Row<'_, Load>>))| {
        let ((name, asked), group): &((&str, f64), _) = call;
        let priorities = select::grouped(group.iter().copied(), |m| m.of.priority.as_str());
        let by_load =
            |(_, group): &(_, Vec<_>)| select::ascending(group, |of: &Load| of.load_per_cpu);
        let rows: Vec<_> = priorities.iter().flat_map(by_load).collect();
        let asked = units::nominal(*asked);
        Table::new(format!("load: lateness of {name} asked for {asked}"), &rows)
            .column("priority", |m| m.of.priority.as_str())
            .column("load\nper CPU", |m| units::plain(m.of.load_per_cpu))
            .told([N, P50, P99, MAX, MEAN])
            .told([named("waited\nfor a CPU", QUEUED), STOLEN])
            .column("unexplained", |m| counted(unexplained_ns(m)))
            .captions((i == last).then_some(CAPTION))
            .section()
    };
    calls.iter().enumerate().map(table).collect()
}

/// What of the mean lateness no counter explains; nothing where the OS does not
/// count both. The counters are of whole batches, so a little can be below zero.
fn unexplained_ns(m: &Measurement) -> Option<f64> {
    let explained = m.queued_per_wait_ns? + m.stolen_per_wait_ns?;
    (m.late_ns.n > 0).then_some(m.late_ns.mean - explained)
}
