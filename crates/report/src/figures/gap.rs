//! The latency of waking up by how long the thread was asleep.

use plotters::prelude::*;
use punctual_record::experiment::Gap;

use punctual_record::Run;

use super::axis::{Axis, LEAST_NS};
use super::chart::{Chart, Place, legend};
use super::figure::{Figure, figure};
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Row, asked_ns};

/// Median latency by the time asleep, with a line up to the 90th percentile.
pub(super) fn gap(run: &Run) -> Option<Figure> {
    let measurements = select::of_run::<Gap>(run);
    let points: Vec<Point> = measurements.iter().filter_map(|m| Point::of(*m)).collect();
    if points.is_empty() {
        return None;
    }
    let calls = select::by_subject(&measurements);
    let place = Place::beside_legend(calls.iter().map(|(call, _)| *call));
    let sheet = Sheet {
        title: "Latency of waking up by the time asleep".to_owned(),
        caption: caption(&points),
        height: place.height(),
    };
    let late = points
        .iter()
        .flat_map(|p| [Some(p.late_ns), p.p90_ns])
        .flatten();
    let axes = [
        Axis::log_ns("time asleep", points.iter().map(|p| p.asleep_ns)),
        Axis::log_ns("median latency", late),
    ];
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &axes[0], &axes[1])?;
        for (call, group) in &calls {
            let look = Look::of(run, call);
            let mut points: Vec<Point> = group.iter().filter_map(|m| Point::of(*m)).collect();
            points.sort_by(|a, b| a.asleep_ns.total_cmp(&b.asleep_ns));
            for point in &points {
                let Some(p90) = point.p90_ns else { continue };
                let ends = [point.late_ns, p90].map(|ns| chart.pixel(point.asleep_ns, ns));
                canvas.draw(&PathElement::new(
                    ends.to_vec(),
                    look.colour.stroke_width(1),
                ))?;
            }
            let line: Vec<(f64, f64)> = points.iter().map(|p| (p.asleep_ns, p.late_ns)).collect();
            chart.series(look, &line)?;
        }
        legend(
            canvas,
            place,
            calls.iter().map(|(call, _)| (*call, Look::of(run, call))),
        )
    });
    Some(figure("gap", svg))
}

struct Point {
    asleep_ns: f64,
    late_ns: f64,
    is_median: bool,
    p90_ns: Option<f64>,
    n: u64,
}

impl Point {
    fn of(m: Row<'_, Gap>) -> Option<Self> {
        let (late_ns, is_median) = select::typical_late_ns(&m)?;
        Some(Self {
            asleep_ns: Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?,
            late_ns,
            is_median,
            p90_ns: m.late_ns.p90.map(|ns| ns as f64),
            n: m.late_ns.n,
        })
    }
}

fn caption(points: &[Point]) -> String {
    let n = select::counts(points.iter().map(|p| p.n));
    let mut caption = format!("How much longer than asked, n = {n} waits each.");
    if points.iter().any(|p| p.p90_ns.is_some()) {
        caption += " The line above a point ends at the 90th percentile, where one is known.";
    }
    let means = points.iter().filter(|p| !p.is_median).count();
    if means > 0 {
        caption += &format!(" {means} points are means, as fewer than 20 samples allow no median.");
    }
    let low = points.iter().filter(|p| p.late_ns < LEAST_NS).count();
    if low > 0 {
        caption += &format!(" {low} points below 1 ns, or early, are drawn at 1 ns.");
    }
    caption
}
