//! Lateness by the load of the computer.

use punctual_record::experiment::Load;
use punctual_record::{Measurement, Run};

use super::axis::Axis;
use super::figure::{Figure, figure};
use super::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
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

fn of_call(run: &Run, call: &str, asked: f64, group: &[Row<'_, Load>]) -> Option<Figure> {
    let priorities = select::grouped(group.iter().copied(), |m| m.of.priority.as_str());
    let lines = priorities.iter().flat_map(|(priority, group)| {
        let typical = points(group, |m| Some(select::typical_late_ns(m)?.0));
        let high = points(group, |m| m.late_ns.p99.map(|ns| ns as f64));
        [
            (format!("{priority}, p50"), typical),
            (format!("{priority}, p99"), high),
        ]
    });
    let lines = lines.filter(|(_, points)| !points.is_empty()).enumerate();
    let series: Vec<Series> = lines
        .map(|(i, (name, points))| Series::new(name, Look::nth(i), points))
        .collect();
    let all = || series.iter().flat_map(|series| &series.line);
    let late = || all().map(|(_, late)| *late);
    let most = all()
        .map(|(load, _)| *load)
        .fold(f64::NEG_INFINITY, f64::max);
    if series.is_empty() {
        return None;
    }
    let plot = Plot {
        title: format!(
            "Lateness of {call} asked for {} by load",
            units::nominal(asked)
        ),
        caption: caption(group) + &low_in_words(late()),
        x: Axis::linear("threads that compute, per CPU", 0.0, most, 4),
        y: Axis::log_ns("lateness", late()),
        series,
    };
    Some(figure(&format!("load-{call}"), plot.draw(run)))
}

fn points(group: &[Row<'_, Load>], of: fn(&Measurement) -> Option<f64>) -> Vec<Point> {
    let points = group.iter();
    ascending(points.filter_map(|m| Some((m.of.load_per_cpu, of(m.m)?))))
}

fn caption(group: &[Row<'_, Load>]) -> String {
    let n = select::counts(group.iter().map(|m| m.late_ns.n));
    let mut caption = format!("n = {n} waits for each load and priority.");
    caption += &means_in_words(group, "points");
    if group.iter().any(|m| m.late_ns.p99.is_none()) {
        caption += " A p99 with fewer than ten samples above it is left out.";
    }
    caption
}
