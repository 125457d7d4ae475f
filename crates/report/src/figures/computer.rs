//! A computer: its waits beside what the rule in force predicts, and a watch of it.

use punctual_record::Run;
use punctual_record::experiment::{Doctor, Hiccup, Watch};

use super::axis::Axis;
use super::plot::{Plot, Point, Series};
use super::rows::{Mark, RowChart};
use super::style::Look;
use super::{Figure, figure};
use crate::select::{self, Row, asked_ns};
use crate::tables::{CAUSES, counted};
use crate::{prose, units};

/// A row for each wait: the median, a box up to the 90th percentile, a line up to the
/// 99th, and the predicted median.
pub(super) fn doctor(run: &Run) -> Option<Figure> {
    let mut waits = select::of_run::<Doctor>(run);
    waits.retain(|m| m.late_ns.n > 0);
    if waits.is_empty() {
        return None;
    }
    let [measured, by_rule] = [0, 4].map(Look::nth);
    let row = |m: &Row<'_, Doctor>| {
        let predicted = m.predicted_late_ns;
        let predicted = predicted.map(|ns| Mark::at(by_rule, ns as f64, 0));
        let marks = std::iter::once(Mark::of(m, measured)).chain(predicted);
        let asked = units::nominal_fine(asked_ns(m.of));
        (format!("{asked} {}", m.subject), marks.collect())
    };
    let n = select::waits(&waits);
    let chart = RowChart {
        title: "Predicted and measured lateness of a wait",
        caption: format!(
            "n = {n} waits each. The disc is the median, the box ends at the 90th percentile, the line at the 99th, where \
             so many waits tell them. Predicted is the median by the timer rule in force, if waking up cost nothing."
        ),
        x: "lateness",
        high: 34,
        rows: waits.iter().map(row).collect(),
        legend: &[("measured", measured), ("predicted", by_rule)],
        beside: 130,
    };
    Some(figure("doctor", chart.draw(run)))
}

/// The share of deadlines by how much later than that they were, and the hiccups over time.
pub(super) fn watch(run: &Run) -> Vec<Figure> {
    let watches = select::of_run::<Watch>(run);
    (watches.into_iter())
        .flat_map(|m| [lateness(run, m), hiccups(run, m)])
        .flatten()
        .collect()
}

fn lateness(run: &Run, m: Row<'_, Watch>) -> Option<Figure> {
    let bins = m.of.histogram_late_ns.iter();
    let bins: Vec<(f64, f64)> = bins.map(|&(ns, n)| (ns as f64, n as f64)).collect();
    let n: f64 = bins.iter().map(|(_, count)| count).sum();
    if n < 1.0 {
        return None;
    }
    // The last bin is the highest, so it ends the line at one of all.
    let mut above = n;
    let points = bins.iter().map(|&(late_ns, count)| {
        above -= count;
        (late_ns, above.max(1.0) / n * 100.0)
    });
    let points: Vec<Point> = points.collect();
    let every = units::nominal(m.of.period_ns);
    let shares = points.iter().map(|(_, share)| *share);
    let (of_them, all) = match m.of.waits {
        Some(_) => ("Deadlines", "deadlines"),
        None => ("Waits", "waits"),
    };
    let missed = prose::when(m.m.missed > 0, || {
        let are_in = if m.of.waits.is_some() { "" } else { " not" };
        format!(", missed ones{are_in} included")
    });
    let plot = Plot {
        title: format!("{of_them} that were later than so much"),
        caption: format!(
            "A deadline every {every} with {}, n = {n}{missed}. Read: of all {all}, so many per cent were later than that; the line \
             ends at the latest one.",
            m.subject
        ),
        x: Axis::log_ns("late", points.iter().map(|(late_ns, _)| *late_ns)),
        y: Axis::log(&format!("% of all {all}"), 1e-9, shares, units::plain),
        series: vec![Series {
            marks: vec![],
            ..Series::new("", Look::nth(0), points)
        }],
    };
    Some(figure("watch-lateness", plot.draw(run)))
}

fn hiccups(run: &Run, m: Row<'_, Watch>) -> Option<Figure> {
    let hiccups: Vec<&Hiccup> = counted(m.of).collect();
    let at_s = |hiccup: &&Hiccup| hiccup.at_ns as f64 / 1e9;
    let late_ns = |hiccup: &&Hiccup| hiccup.late_ns as f64;
    if hiccups.is_empty() {
        return None;
    }
    let series = CAUSES.iter().enumerate().map(|(i, (cause, words))| {
        let of = hiccups.iter().filter(|hiccup| hiccup.cause == *cause);
        let marks = of.map(|hiccup| (at_s(hiccup), late_ns(hiccup))).collect();
        Series {
            line: vec![],
            ..Series::new(*words, Look::nth(i), marks)
        }
    });
    let threshold = units::nominal(m.of.threshold_ns);
    let last = m.of.elapsed_ns as f64 / 1e9;
    let last = hiccups.iter().map(at_s).fold(last, f64::max);
    let plot = Plot {
        title: "Hiccups over time".to_owned(),
        caption: format!(
            "Waits with {} that ended more than {threshold} late, n = {}, by the cause whose counter covers at least half \
             of that.",
            m.subject,
            hiccups.len()
        ),
        x: Axis::linear("s since the beginning", 0.0, last, 8),
        y: Axis::log_ns("late", hiccups.iter().map(late_ns)),
        series: series.filter(|series| !series.marks.is_empty()).collect(),
    };
    Some(figure("watch-hiccups", plot.draw(run)))
}
