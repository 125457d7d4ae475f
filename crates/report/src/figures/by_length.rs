//! How late waits are by the time asked for: a line for each subject, both axes
//! logarithmic.

use punctual_record::{OfLength, Run};

use super::axis::Axis;
use super::figure::{Figure, figure};
use super::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
use crate::select::{self, Row, asked_ns};

/// What a figure of this kind is about.
pub(super) struct ByLength {
    /// The name of its file.
    name: &'static str,
    title: &'static str,
    /// What is drawn upwards, `lateness`.
    late: &'static str,
    /// What was counted, `requests of each length and subject`.
    counted: &'static str,
}

/// Article figure 2: requests of every length.
pub(super) const DECADES: ByLength = ByLength {
    name: "decades",
    title: "Lateness by the time asked for",
    late: "lateness",
    counted: "requests of each length and subject",
};

/// The wait calls of the OS.
pub(super) const SLEEP: ByLength = ByLength {
    name: "sleep",
    title: "How much longer than asked each call waits",
    late: "overshoot",
    counted: "waits of each length and call",
};

impl ByLength {
    pub(super) fn draw<E: OfLength>(&self, run: &Run) -> Option<Figure> {
        let measurements = select::of_run::<E>(run);
        let all = points(&measurements);
        if all.is_empty() {
            return None;
        }
        let plot = Plot {
            title: self.title.to_owned(),
            caption: self.caption(&measurements, &all),
            x: Axis::log_ns("time asked for", all.iter().map(|&(asked, _)| asked)),
            y: Axis::log_ns(
                &format!("median {}", self.late),
                all.iter().map(|&(_, late)| late),
            ),
            series: alike(Series::of_subjects(run, &measurements, points)),
        };
        Some(figure(self.name, plot.draw(run)))
    }

    fn caption<E: OfLength>(&self, measurements: &[Row<'_, E>], points: &[Point]) -> String {
        let n = select::counts(measurements.iter().map(|m| m.late_ns.n));
        let mut caption = format!("Median {} of n = {n} {}.", self.late, self.counted);
        caption += &means_in_words(measurements, "points");
        caption += &low_in_words(points.iter().map(|&(_, late)| late));
        if select::by_subject(measurements).len() > 1 {
            caption += &format!(
                " Alike are those that nowhere differ by more than {:.0} %.",
                (ALIKE - 1.0) * 100.0
            );
        }
        if measurements.iter().any(|m| m.of.asked_ns() == 0) {
            caption += " Waits of 0 ns are only in the table.";
        }
        caption
    }
}

/// Lines that nowhere differ by more than this are drawn as one.
const ALIKE: f64 = 1.25;

/// Those that look the same as one each, with the names of all: a line that hides another
/// tells nothing, and a legend of fifteen is not read.
fn alike(all: Vec<Series>) -> Vec<Series> {
    let mut told: Vec<(Series, usize)> = Vec::new();
    for series in all {
        let same = |other: &Series| {
            let mut pairs = series.line.iter().zip(&other.line);
            series.line.len() == other.line.len()
                && pairs.all(|(a, b)| a.0 == b.0 && (a.1 / b.1).max(b.1 / a.1) <= ALIKE)
        };
        match told.iter_mut().find(|(other, _)| same(other)) {
            Some((_, others)) => *others += 1,
            None => told.push((series, 0)),
        }
    }
    let named = told.into_iter().map(|(series, others)| match others {
        0 => series,
        n => Series {
            name: format!("{} and {n} alike", series.name),
            ..series
        },
    });
    named.collect()
}

/// Asked and late, by what was asked. No time at all has no place on the axis.
fn points<E: OfLength>(measurements: &[Row<'_, E>]) -> Vec<Point> {
    ascending(measurements.iter().filter_map(|m| {
        let asked = Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?;
        Some((asked, select::typical_late_ns(m)?.0))
    }))
}
