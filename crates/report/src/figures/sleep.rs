//! The wait calls of the OS: overshoot by the time asked for.

use punctual_record::{Measurement, Run};

use super::axis::{Axis, LEAST_NS};
use super::figure::{Figure, figure};
use super::lines::lines;
use crate::select::{self, Kind};

/// A line for each call, both axes logarithmic.
pub(super) fn sleep(run: &Run) -> Option<Figure> {
    let measurements = select::of_kind(run, Kind::Sleep);
    let all = points(&measurements);
    if all.is_empty() {
        return None;
    }
    let axes = [
        Axis::log_ns("time asked for", all.iter().map(|&(asked, _)| asked)),
        Axis::log_ns("median overshoot", all.iter().map(|&(_, late)| late)),
    ];
    let title = "How much longer than asked each call waits".to_owned();
    let words = [title, caption(&measurements, &all)];
    let svg = lines(run, words, axes, &measurements, points);
    Some(figure("sleep", svg))
}

/// Asked and overshoot, by what was asked. No time at all has no place on the
/// axis.
fn points(measurements: &[&Measurement]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = measurements
        .iter()
        .filter_map(|m| {
            let asked = select::param(m, "asked_ns").filter(|ns| *ns > 0.0)?;
            Some((asked, select::typical_late_ns(m)?.0))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn caption(measurements: &[&Measurement], points: &[(f64, f64)]) -> String {
    let n = select::counts(measurements.iter().map(|m| m.late_ns.n));
    let mut caption = format!("Median overshoot of n = {n} waits of each length and call.");
    let means = measurements
        .iter()
        .filter(|m| matches!(select::typical_late_ns(m), Some((_, false))))
        .count();
    if means > 0 {
        caption += &format!(" {means} points are means, as fewer than 20 samples allow no median.");
    }
    let low = points.iter().filter(|(_, late)| *late < LEAST_NS).count();
    if low > 0 {
        caption += &format!(" {low} points below 1 ns, or early, are drawn at 1 ns.");
    }
    let zero = |m: &&&Measurement| select::param(m, "asked_ns") == Some(0.0);
    if measurements.iter().any(|m| zero(&m)) {
        caption += " Waits of 0 ns are only in the table.";
    }
    caption
}
