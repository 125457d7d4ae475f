//! Lateness by the load of the computer.

use punctual_record::experiment::Load;
use punctual_record::{Measurement, Run};

use super::axis::{Axis, LEAST_NS};
use super::chart::{Chart, Place, legend};
use super::figure::{Figure, figure};
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Row, asked_ns};
use crate::units;

/// For each call: the median and the 99th percentile, by load and priority.
pub(super) fn load(run: &Run) -> Vec<Figure> {
    select::grouped(select::of_run::<Load>(run), |m| {
        (m.m.subject.as_str(), asked_ns(m.of))
    })
    .iter()
    .filter_map(|((call, asked), group)| of_call(run, call, *asked, group))
    .collect()
}

/// A name and its points.
type Series = (String, Vec<(f64, f64)>);

fn of_call(run: &Run, call: &str, asked: f64, group: &[Row<'_, Load>]) -> Option<Figure> {
    let series: Vec<Series> = select::grouped(group.iter().copied(), |m| m.of.priority.as_str())
        .iter()
        .flat_map(|(priority, group)| {
            [
                (
                    format!("{priority}, p50"),
                    points(group, |m| Some(select::typical_late_ns(m)?.0)),
                ),
                (
                    format!("{priority}, p99"),
                    points(group, |m| m.late_ns.p99.map(|ns| ns as f64)),
                ),
            ]
        })
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = || series.iter().flat_map(|(_, points)| points);
    let most = all()
        .map(|(load, _)| *load)
        .fold(f64::NEG_INFINITY, f64::max);
    if series.is_empty() {
        return None;
    }
    let asked = format!(" asked for {}", units::nominal(asked));
    let place = Place::beside_legend(series.iter().map(|(name, _)| name.as_str()));
    let sheet = Sheet {
        title: format!("Lateness of {call}{asked} by load"),
        caption: caption(group, all().filter(|(_, late)| *late < LEAST_NS).count()),
        height: place.height(),
    };
    let x = Axis::linear("threads that compute, per CPU", 0.0, most, 4);
    let y = Axis::log_ns("lateness", all().map(|(_, late)| *late));
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &x, &y)?;
        for (i, (_, points)) in series.iter().enumerate() {
            chart.series(Look::nth(i), points)?;
        }
        let entries = series.iter().enumerate();
        legend(
            canvas,
            place,
            entries.map(|(i, (name, _))| (name.as_str(), Look::nth(i))),
        )
    });
    Some(figure(&format!("load-{call}"), svg))
}

fn points(group: &[Row<'_, Load>], of: fn(&Measurement) -> Option<f64>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = group
        .iter()
        .filter_map(|m| Some((m.of.load_per_cpu, of(m.m)?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn caption(group: &[Row<'_, Load>], low: usize) -> String {
    let n = select::counts(group.iter().map(|m| m.late_ns.n));
    let mut caption = format!("n = {n} waits for each load and priority.");
    let means = group
        .iter()
        .filter(|m| matches!(select::typical_late_ns(m), Some((_, false))))
        .count();
    if means > 0 {
        caption += &format!(" {means} points are means, as fewer than 20 samples allow no median.");
    }
    if group.iter().any(|m| m.late_ns.p99.is_none()) {
        caption += " A p99 with fewer than ten samples above it is left out.";
    }
    if low > 0 {
        caption += &format!(" {low} points below 1 ns, or early, are drawn at 1 ns.");
    }
    caption
}
