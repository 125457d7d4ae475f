//! The article's thousand frames.

use punctual_record::Measurement;

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::{select, units};

/// For each rate: the shortest and the longest frame, and how far they are off.
pub(crate) fn frames(measurements: &[&Measurement]) -> Vec<String> {
    select::grouped(measurements.iter().copied(), select::rate)
        .iter()
        .map(|(rate, group)| at_rate(rate, group))
        .collect()
}

fn at_rate(rate: &str, group: &[&Measurement]) -> String {
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
        for (key, written) in [
            ("frame_min_ns", to_the_microsecond as fn(f64) -> String),
            ("frame_max_ns", to_the_microsecond),
            ("frame_mean_abs_error_ns", units::duration),
        ] {
            let value = select::extra_of_late(m, key).map(written);
            row.push(marks.or_blank(value, Why::NotMeasured));
        }
        row.push(marks.over_1ms_percent(m));
        row.push(marks.cpu_percent(&m.cpu));
        grid.row(row);
    }
    let period = group.iter().find_map(|m| select::period_ns(m));
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
