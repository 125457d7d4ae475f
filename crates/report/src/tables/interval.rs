//! CPU time by the length of the interval.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row};
use crate::units;
use punctual_record::experiment::IntervalLength;

/// CPU time billed by the interval between two waits, a column per subject.
pub(crate) fn interval(measurements: &[Row<'_, IntervalLength>]) -> Vec<String> {
    let subjects = select::by_subject(measurements);
    let mut head = vec!["interval\nms", "n"];
    head.extend(subjects.iter().map(|(subject, _)| *subject));
    let mut grid = Grid::new("interval: CPU % by the interval between two waits", &head);
    let mut marks = Marks::default();
    for period in select::values(measurements, period_ns) {
        let cells: Vec<Option<Row<'_, IntervalLength>>> = subjects
            .iter()
            .map(|(_, of_subject)| select::at(of_subject, period_ns, period))
            .collect();
        let mut row = vec![
            units::plain(period / 1e6),
            select::counts(cells.iter().flatten().map(|m| m.late_ns.n)),
        ];
        for cell in cells {
            row.push(match cell {
                Some(m) => marks.cpu_percent(&m.cpu),
                None => marks.or_blank(None, Why::NotMeasured),
            });
        }
        grid.row(row);
    }
    let caption = "CPU time billed to the thread, in % of the time that passed; n waits each.";
    vec![grid.section(&[caption], marks)]
}

fn period_ns(of: &IntervalLength) -> f64 {
    of.period_ns as f64
}
