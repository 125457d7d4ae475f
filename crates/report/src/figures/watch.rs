//! A host that was watched: how many waits were how late, and when.

use punctual_record::{Measurement, Run, Value};

use super::axis::Axis;
use super::chart::{Chart, Place, legend_of_marks};
use super::figure::{Figure, figure};
use super::sheet::Sheet;
use super::style::Look;
use crate::tables::CAUSES;
use crate::{select, units};

/// The share of waits by how much later than that they were, and the hiccups over time.
pub(super) fn watch(run: &Run) -> Vec<Figure> {
    let watches = run.results.iter().filter(|m| m.experiment == "watch");
    watches
        .flat_map(|m| [lateness(run, m), hiccups(run, m)])
        .flatten()
        .collect()
}

fn lateness(run: &Run, m: &Measurement) -> Option<Figure> {
    let bin = |bin: &Value| Some((bin[0].as_f64()?, bin[1].as_f64()?));
    let bins: Vec<(f64, f64)> = list(m, "histogram_late_ns")
        .iter()
        .filter_map(bin)
        .collect();
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
    let every = units::nominal(select::param(m, "period_ns").unwrap_or(0.0));
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

fn hiccups(run: &Run, m: &Measurement) -> Option<Figure> {
    struct Hiccup<'a> {
        at_s: f64,
        late_ns: f64,
        cause: &'a str,
    }
    let read = |hiccup: &'static str, value: &Value| value[hiccup].as_f64();
    let hiccups = list(m, "hiccups").iter().filter_map(|value| {
        Some(Hiccup {
            at_s: read("at_ns", value)? / 1e9,
            late_ns: read("late_ns", value)?,
            cause: value["cause"].as_str()?,
        })
    });
    let hiccups: Vec<Hiccup<'_>> = hiccups.collect();
    if hiccups.is_empty() {
        return None;
    }
    let causes: Vec<(usize, &str, &str)> = (0..)
        .zip(CAUSES)
        .filter(|(_, (cause, _))| hiccups.iter().any(|hiccup| hiccup.cause == *cause))
        .map(|(i, (cause, words))| (i, cause, words))
        .collect();
    let place = Place::beside_legend(causes.iter().map(|(_, _, words)| *words));
    let threshold = units::nominal(select::param(m, "threshold_ns").unwrap_or(0.0));
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
    let last = select::extra(m, "elapsed_ns").unwrap_or(0.0) / 1e9;
    let last = hiccups
        .iter()
        .map(|hiccup| hiccup.at_s)
        .fold(last, f64::max);
    let axes = [
        Axis::linear("s since the beginning", 0.0, last, 8),
        Axis::log_ns("late", hiccups.iter().map(|hiccup| hiccup.late_ns)),
    ];
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &axes[0], &axes[1])?;
        for (i, cause, _) in &causes {
            let of = hiccups.iter().filter(|hiccup| hiccup.cause == *cause);
            for hiccup in of {
                Look::nth(*i).marker(canvas, chart.pixel(hiccup.at_s, hiccup.late_ns))?;
            }
        }
        let entries = causes.iter().map(|(i, _, words)| (*words, Look::nth(*i)));
        legend_of_marks(canvas, place, entries)
    });
    Some(figure("watch-hiccups", svg))
}

fn list<'a>(m: &'a Measurement, key: &str) -> &'a [Value] {
    let value = m.other.get(key).and_then(Value::as_array);
    value.map_or(&[], Vec::as_slice)
}
