//! A host that was watched: how many waits were how late, and when.

use punctual_record::Run;
use punctual_record::experiment::{Cause, Hiccup, Watch};

use super::axis::Axis;
use super::chart::{Chart, Place, legend_of_marks};
use super::figure::{Figure, figure};
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Row};
use crate::tables::CAUSES;
use crate::units;

/// The share of waits by how much later than that they were, and the hiccups over time.
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
    // The last bin has nobody above it, so it ends the line at one of all.
    let mut above = n;
    let points = bins.iter().map(|&(late_ns, count)| {
        above -= count;
        (late_ns, above.max(1.0) / n * 100.0)
    });
    let points: Vec<(f64, f64)> = points.collect();
    let place = Place::whole();
    let every = units::nominal(m.of.period_ns as f64);
    let sheet = Sheet {
        title: "Waits that were later than so much".to_owned(),
        caption: format!(
            "A wait every {every} with {}, n = {n}. Read: of all waits, so many per cent were later than that; the line \
             ends at the latest one.",
            m.subject
        ),
        height: place.height(),
    };
    let axes = [
        Axis::log_ns("late", points.iter().map(|(late_ns, _)| *late_ns)),
        Axis::log(
            "% of all waits",
            1e-9,
            points.iter().map(|(_, share)| *share),
            units::plain,
        ),
    ];
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &axes[0], &axes[1])?;
        let line: Vec<_> = points.iter().map(|&(x, y)| chart.pixel(x, y)).collect();
        Look::nth(0).line(canvas, &line)
    });
    Some(figure("watch-lateness", svg))
}

fn hiccups(run: &Run, m: Row<'_, Watch>) -> Option<Figure> {
    let hiccups = &m.of.hiccups;
    let at_s = |hiccup: &Hiccup| hiccup.at_ns as f64 / 1e9;
    let late_ns = |hiccup: &Hiccup| hiccup.late_ns as f64;
    if hiccups.is_empty() {
        return None;
    }
    let causes: Vec<(usize, Cause, &str)> = (0..)
        .zip(CAUSES)
        .filter(|(_, (cause, _))| hiccups.iter().any(|hiccup| hiccup.cause == *cause))
        .map(|(i, (cause, words))| (i, cause, words))
        .collect();
    let place = Place::beside_legend(causes.iter().map(|(_, _, words)| *words));
    let threshold = units::nominal(m.of.threshold_ns as f64);
    let sheet = Sheet {
        title: "Hiccups over time".to_owned(),
        caption: format!(
            "Waits with {} that ended more than {threshold} late, n = {}, by the cause whose counter covers at least half \
             of that.",
            m.subject,
            hiccups.len()
        ),
        height: place.height(),
    };
    let last = m.of.elapsed_ns as f64 / 1e9;
    let last = hiccups.iter().map(at_s).fold(last, f64::max);
    let axes = [
        Axis::linear("s since the beginning", 0.0, last, 8),
        Axis::log_ns("late", hiccups.iter().map(late_ns)),
    ];
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &axes[0], &axes[1])?;
        for (i, cause, _) in &causes {
            let of = hiccups.iter().filter(|hiccup| hiccup.cause == *cause);
            for hiccup in of {
                Look::nth(*i).marker(canvas, chart.pixel(at_s(hiccup), late_ns(hiccup)))?;
            }
        }
        let entries = causes.iter().map(|(i, _, words)| (*words, Look::nth(*i)));
        legend_of_marks(canvas, place, entries)
    });
    Some(figure("watch-hiccups", svg))
}
