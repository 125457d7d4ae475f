//! The article's thousand frames.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row};
use crate::units;
use punctual_record::experiment::Pace;

/// For each rate: the shortest and the longest frame, and how far they are off.
pub(crate) fn frames(measurements: &[Row<'_, Pace>]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), select::rate)
        .iter()
        .map(|(rate, group)| at_rate(rate, group))
        .collect()
}

fn at_rate(rate: &str, group: &[Row<'_, Pace>]) -> String {
    let mut grid = Grid::new(
        format!("frames at {rate}"),
        &[
            "subject",
            "n",
            "frame min",
            "frame max",
            "mean absolute error",
            "> 1 ms %",
            "CPU %",
        ],
    );
    let mut marks = Marks::default();
    for m in group {
        let mut row = vec![m.subject.clone(), m.late_ns.n.to_string()];
        let frames = m.of.frames.filter(|_| m.late_ns.n > 0);
        row.extend(
            [
                frames.map(|frames| to_the_microsecond(frames.min_ns as f64)),
                frames.map(|frames| to_the_microsecond(frames.max_ns as f64)),
                frames.map(|frames| units::duration(frames.mean_abs_error_ns)),
            ]
            .map(|length| marks.or_blank(length, Why::NotMeasured)),
        );
        row.push(marks.over_1ms_percent(m));
        row.push(marks.cpu_percent(&m.cpu));
        grid.row(row);
    }
    let period = group.first().map(|m| m.of.period_ns as f64);
    let wanted = period.map_or_else(String::new, |ns| {
        format!(" A frame should take {}.", units::nominal(ns))
    });
    let caption = format!(
        "n: waits. frame: the time from one wake to the next.{wanted} > 1 ms: the waits that ended \
         more than 1 ms late. CPU: time billed to the thread."
    );
    grid.section(&[caption], marks)
}

/// Three digits would make all frames the same: what tells them apart comes
/// after.
fn to_the_microsecond(ns: f64) -> String {
    format!("{:.3} ms", ns / 1e6)
}
