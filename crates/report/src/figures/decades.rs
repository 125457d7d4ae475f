//! Article figure 2: requests of every length.

use punctual_record::{Measurement, Run};

use super::axis::{Axis, LEAST_NS};
use super::chart::{Chart, Place, legend};
use super::figure::{Figure, figure};
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Kind};

/// Lateness by the time asked for, both logarithmic.
pub(super) fn decades(run: &Run) -> Option<Figure> {
    let measurements = select::of_kind(run, Kind::Decades);
    let all = points(&measurements);
    if all.is_empty() {
        return None;
    }
    let subjects = select::by_subject(measurements.iter().copied());
    let place = Place::beside_legend(subjects.iter().map(|&(subject, _)| subject));
    let sheet = Sheet {
        title: "Lateness by the time asked for".to_owned(),
        caption: caption(&measurements, &all),
        height: place.height(),
    };
    let x = Axis::log_ns("time asked for", all.iter().map(|&(asked, _)| asked));
    let y = Axis::log_ns("median lateness", all.iter().map(|&(_, late)| late));
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &x, &y)?;
        for (subject, of_subject) in &subjects {
            chart.series(Look::of(run, subject), &points(of_subject))?;
        }
        let entries = subjects.iter().map(|&(s, _)| (s, Look::of(run, s)));
        legend(canvas, place, entries)
    });
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
