//! The latency of waking up by how long the thread was asleep.

use punctual_record::Run;
use punctual_record::experiment::Gap;

use super::axis::Axis;
use super::figure::{Figure, figure};
use super::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
use crate::select::{self, Row, asked_ns};

/// Median latency by the time asleep, with a line up to the 90th percentile.
pub(super) fn gap(run: &Run) -> Option<Figure> {
    let mut measurements = select::of_run::<Gap>(run);
    let series = Series::of_subjects(run, &measurements, points).into_iter();
    // No time at all has no place on the axis.
    let is_drawn = |m: &Row<'_, Gap>| m.of.asked_ns > 0 && select::typical_late_ns(m).is_some();
    measurements.retain(is_drawn);
    let all = points(&measurements);
    if all.is_empty() {
        return None;
    }
    let whiskers = |subject: &str| {
        let of_subject = measurements.iter().filter(|m| m.subject == subject);
        let ends = of_subject.filter_map(|m| Some([point(m)?, (asked_ns(m.of), p90(m)?)]));
        let mut ends: Vec<[Point; 2]> = ends.collect();
        ends.sort_by(|[a, _], [b, _]| a.0.total_cmp(&b.0));
        ends
    };
    let series = series.map(|series| Series {
        whiskers: whiskers(&series.name),
        ..series
    });
    let late = measurements.iter().filter_map(p90);
    let plot = Plot {
        title: "Latency of waking up by the time asleep".to_owned(),
        caption: caption(&measurements),
        x: Axis::log_ns("time asleep", all.iter().map(|p| p.0)),
        y: Axis::log_ns("median latency", late.chain(all.iter().map(|p| p.1))),
        series: series.collect(),
    };
    Some(figure("gap", plot.draw(run)))
}

fn points(measurements: &[Row<'_, Gap>]) -> Vec<Point> {
    ascending(measurements.iter().filter_map(point))
}

fn point(m: &Row<'_, Gap>) -> Option<Point> {
    let asleep = Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?;
    Some((asleep, select::typical_late_ns(m)?.0))
}

fn p90(m: &Row<'_, Gap>) -> Option<f64> {
    m.late_ns.p90.map(|ns| ns as f64)
}

fn caption(drawn: &[Row<'_, Gap>]) -> String {
    let n = select::counts(drawn.iter().map(|m| m.late_ns.n));
    let mut caption = format!("How much longer than asked, n = {n} waits each.");
    if drawn.iter().any(|m| p90(m).is_some()) {
        caption += " The line above a point ends at the 90th percentile, where one is known.";
    }
    caption += &means_in_words(drawn, "points");
    caption += &low_in_words(drawn.iter().filter_map(point).map(|(_, late)| late));
    caption
}
