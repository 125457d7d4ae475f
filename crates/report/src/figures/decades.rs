//! Article figure 2: requests of every length.

use punctual_record::{Measurement, Run};

use super::axis::{Axis, LEAST_NS};
use super::figure::{Figure, figure};
use super::lines::lines;
use crate::select::{self, Kind};

/// Lateness by the time asked for, both logarithmic.
pub(super) fn decades(run: &Run) -> Option<Figure> {
    let measurements = select::of_kind(run, Kind::Decades);
    let all = points(&measurements);
    if all.is_empty() {
        return None;
    }
    let axes = [
        Axis::log_ns("time asked for", all.iter().map(|&(asked, _)| asked)),
        Axis::log_ns("median lateness", all.iter().map(|&(_, late)| late)),
    ];
    let title = "Lateness by the time asked for".to_owned();
    let words = [title, caption(&measurements, &all)];
    let svg = lines(run, words, axes, &measurements, points);
    Some(figure("decades", svg))
}

/// Asked and late, by what was asked.
fn points(measurements: &[&Measurement]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = measurements
        .iter()
        .filter_map(|m| {
            let (late, _) = select::typical_late_ns(m)?;
            Some((select::param(m, "asked_ns")?, late))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn caption(measurements: &[&Measurement], points: &[(f64, f64)]) -> String {
    let n = select::counts(measurements.iter().map(|m| m.late_ns.n));
    let mut caption = format!("Median lateness of n = {n} requests of each length and subject.");
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
    caption
}
