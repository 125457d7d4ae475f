//! Waits on a loaded computer: how late they are, and where the time went.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row, asked_ns};
use crate::units;
use punctual_record::Measurement;
use punctual_record::experiment::Load;

/// For each call: lateness by load and priority, split as far as the OS counts.
pub(crate) fn load(measurements: &[Row<'_, Load>]) -> Vec<String> {
    let calls = select::grouped(measurements.iter().copied(), |m| {
        (m.m.subject.as_str(), asked_ns(m.of))
    });
    let last = calls.len().saturating_sub(1);
    calls
        .iter()
        .enumerate()
        .map(|(i, ((call, asked), group))| with(call, *asked, group, i == last))
        .collect()
}

fn with(call: &str, asked: f64, group: &[Row<'_, Load>], is_last: bool) -> String {
    let asked = format!(" asked for {}", units::nominal(asked));
    let mut grid = Grid::new(
        format!("load: lateness of {call}{asked}"),
        &[
            "priority",
            "load\nper CPU",
            "n",
            "p50",
            "p99",
            "max",
            "mean",
            "waited\nfor a CPU",
            "stolen",
            "unexplained",
        ],
    );
    let mut marks = Marks::default();
    for (priority, of_priority) in
        select::grouped(group.iter().copied(), |m| m.of.priority.as_str())
    {
        for load in select::values(&of_priority, |of| of.load_per_cpu) {
            let Some(m) = select::at(&of_priority, |of| of.load_per_cpu, load) else {
                continue;
            };
            let late = &m.late_ns;
            let counted = |ns: Option<f64>| ns.map(units::duration);
            grid.row(vec![
                priority.to_owned(),
                units::plain(load),
                late.n.to_string(),
                marks.percentile(&m, late.p50),
                marks.percentile(&m, late.p99),
                marks.measured(&m, late.max as f64),
                marks.measured(&m, late.mean),
                marks.or_blank(counted(m.queued_per_wait_ns), Why::NotCounted),
                marks.or_blank(counted(m.stolen_per_wait_ns), Why::NotCounted),
                marks.or_blank(counted(unexplained_ns(&m)), Why::NotCounted),
            ]);
        }
    }
    let caption = "load: threads that compute, for each CPU. waited: the time per wait that the thread could run \
         and had no CPU. stolen: the time per wait that a hypervisor gave the CPU to somebody else, which is \
         counted in steps of 10 ms. unexplained: the mean less these two; timer slack and waking up are in it.";
    grid.section(is_last.then_some(caption).as_slice(), marks)
}

/// What of the mean lateness no counter explains; nothing where the OS does not
/// count both. The counters are of whole batches, so a little can be below zero.
fn unexplained_ns(m: &Measurement) -> Option<f64> {
    let explained = m.queued_per_wait_ns? + m.stolen_per_wait_ns?;
    (m.late_ns.n > 0).then_some(m.late_ns.mean - explained)
}
