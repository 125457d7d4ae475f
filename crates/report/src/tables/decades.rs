//! Requests of every length: how late each was.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row, asked_ns};
use crate::units;
use punctual_record::experiment::Decades;

/// Median lateness by the time asked for, a column per subject.
pub(crate) fn decades(measurements: &[Row<'_, Decades>]) -> Vec<String> {
    let subjects = select::by_subject(measurements);
    let mut head = vec!["asked", "n"];
    head.extend(subjects.iter().map(|(subject, _)| *subject));
    let mut grid = Grid::new("decades: lateness by the time asked for", &head);
    let mut marks = Marks::default();
    let mut any_mean = false;
    for asked in select::values(measurements, asked_ns) {
        let cells: Vec<Option<Row<'_, Decades>>> = subjects
            .iter()
            .map(|(_, of_subject)| select::at(of_subject, asked_ns, asked))
            .collect();
        let mut row = vec![
            units::nominal(asked),
            select::counts(cells.iter().flatten().map(|m| m.late_ns.n)),
        ];
        for cell in cells {
            let late = cell.and_then(|m| select::typical_late_ns(&m));
            any_mean |= late.is_some_and(|(_, is_median)| !is_median);
            let text = late.map(|(ns, is_median)| {
                let mean = if is_median { "" } else { " m" };
                format!("{}{mean}", units::duration(ns))
            });
            row.push(marks.or_blank(text, Why::NotMeasured));
        }
        grid.row(row);
    }
    let mut caption = vec!["Median lateness of n requests of each length."];
    if any_mean {
        caption.push("`m`: the mean, as fewer than 20 samples allow no median.");
    }
    vec![grid.section(&caption, marks)]
}
