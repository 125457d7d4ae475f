//! How late the waits at a rate were: the tail, and the histogram.

use std::collections::BTreeMap;

use plotters::prelude::*;
use punctual_record::Run;
use punctual_record::experiment::{Deadlines, Pace};

use super::axis::{Axis, LEAST_NS};
use super::figure::{Figure, figure};
use super::panels::{Layout, Panel, Panels};
use super::plot::{Plot, Point, Series, low_in_words};
use super::style::Look;
use super::svg;
use crate::select::{self, Row};
use crate::units;

/// The latest so many waits each have a point in the tail; before them the points are as far
/// apart as a twentieth of what is left, so that the tail is as fine as the rest.
const FEW: usize = 20;

/// How many bins the axis of the histogram has, and where its logarithmic axis begins, below
/// a single wait.
const BINS: usize = 60;
const HALF: f64 = 0.5;

const LAYOUT: Layout = Layout {
    high: 72,
    air: (0, 8),
    above: 0,
    left: 16,
    right: 60,
    lines: (16, 18),
};

/// For each rate the share of waits that were later than so much, and how many were how
/// late.
pub(super) fn distributions(run: &Run) -> Vec<Figure> {
    let mut sampled = select::paced(run, Deadlines::Absolute);
    sampled.retain(|m| !m.samples_late_ns.is_empty());
    select::grouped(sampled, select::rate)
        .iter()
        .flat_map(|(rate, group)| [tail(run, rate, group), histogram(run, rate, group)])
        .collect()
}

fn n_in_words(group: &[Row<'_, Pace>]) -> String {
    select::counts(group.iter().map(|m| m.samples_late_ns.len() as u64))
}

fn tail(run: &Run, rate: &str, group: &[Row<'_, Pace>]) -> Figure {
    let series = Series::of_subjects(run, group, |rows| later_than(&samples(rows)));
    let series = series.into_iter().map(|series| Series {
        marks: vec![],
        ..series
    });
    let series: Vec<Series> = series.collect();
    let points = || series.iter().flat_map(|series| &series.line);
    let late = group.iter().flat_map(|m| m.samples_late_ns.iter());
    let low = low_in_words(late.map(|ns| *ns as f64));
    let plot = Plot {
        title: format!("Waits that were later than so much at {rate}"),
        caption: format!(
            "Read: of all waits, so many per cent were later than that; a line ends at the latest one. n = {} waits \
             each.{low}",
            n_in_words(group)
        ),
        x: Axis::log_ns("late", points().map(|point| point.0)),
        y: Axis::log(
            "% of waits",
            1e-4,
            points().map(|point| point.1),
            units::plain,
        ),
        series,
    };
    let rate = rate.replace(' ', "");
    figure(&format!("tail-{rate}"), plot.draw(run))
}

fn samples(rows: &[Row<'_, Pace>]) -> Vec<i64> {
    let mut samples: Vec<i64> = rows
        .iter()
        .flat_map(|m| m.samples_late_ns.clone())
        .collect();
    samples.sort_unstable();
    samples
}

/// The share that was later, in per cent, by how late; the last at one of all.
fn later_than(sorted: &[i64]) -> Vec<Point> {
    let n = sorted.len();
    let mut points = Vec::new();
    let mut later = n;
    while later > 0 {
        let late_ns = sorted[n - later] as f64;
        points.push((late_ns.max(LEAST_NS), later as f64 / n as f64 * 100.0));
        later = (later - 1).min(if later > FEW { later * 19 / 20 } else { later });
    }
    points
}

/// A strip per subject on one scale, so that no subject hides another.
fn histogram(run: &Run, rate: &str, group: &[Row<'_, Pace>]) -> Figure {
    let mut all: Vec<i64> = group
        .iter()
        .flat_map(|m| m.samples_late_ns.clone())
        .collect();
    all.sort_unstable();
    let to = all[(all.len() - 1) * 99 / 100].max(1) as f64 * 1.1;
    let width = to / BINS as f64;
    let beyond = all.iter().filter(|ns| **ns as f64 >= to).count();
    let strips = select::by_subject(group).into_iter();
    let strips: Vec<(&str, BTreeMap<usize, u64>)> = strips
        .map(|(subject, rows)| (subject, counts(&samples(&rows), width)))
        .collect();
    let highest = strips.iter().flat_map(|(_, bins)| bins.values());
    let highest = highest.map(|n| *n as f64).chain([HALF]);
    let y = Axis::log("", HALF, highest, units::plain).with_few_ticks(4);
    let last = match beyond {
        0 => String::new(),
        n => format!(" The last bin has all that were later, {n} waits."),
    };
    let panels = strips.iter().map(|(subject, bins)| Panel {
        name: subject,
        lines: vec![format!("n = {}", bins.values().sum::<u64>())],
        y: y.clone(),
        draw: Box::new(move |canvas, chart, _| {
            let fill = Look::of(run, subject).colour.filled();
            bins.iter().try_for_each(|(&bin, &n)| {
                let from = bin as f64 * width / 1e3;
                let (left, top) = chart.pixel(from, n as f64);
                let (right, bottom) = chart.pixel(from + width / 1e3, HALF);
                let words = format!("{n} from {}", units::duration(bin as f64 * width));
                svg::valued(canvas, &words, || {
                    canvas.draw(&Rectangle::new([(left, top), (right, bottom)], fill))
                })
            })
        }),
    });
    let panels = Panels {
        title: format!("How many waits were how late at {rate}"),
        caption: format!(
            "Waits in bins of {}, the counts on a logarithmic axis; n = {} waits each.{last}",
            units::duration(width),
            n_in_words(group)
        ),
        layout: LAYOUT,
        x: Axis::linear("late (us)", 0.0, to / 1e3, 8),
        y: "",
        above: vec![],
        panels: panels.collect(),
    };
    let rate = rate.replace(' ', "");
    figure(&format!("histogram-{rate}"), panels.draw(run))
}

/// How many are in each bin that has any, the last with all that are later.
fn counts(samples: &[i64], width: f64) -> BTreeMap<usize, u64> {
    let mut bins = BTreeMap::new();
    for ns in samples {
        let bin = (*ns as f64 / width).max(0.0) as usize;
        *bins.entry(bin.min(BINS - 1)).or_default() += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_begins_at_all_and_ends_at_one() {
        let sorted: Vec<i64> = (1..=10_000).collect();
        let points = later_than(&sorted);
        assert!(points.len() < 200, "{}", points.len());
        assert_eq!(points[0], (1.0, 100.0));
        assert_eq!(points[points.len() - 1], (10_000.0, 0.01));
        for &(late_ns, share) in &points {
            let later = sorted.iter().filter(|ns| **ns as f64 >= late_ns).count();
            assert!(
                (later as f64 / 100.0 - share).abs() < 1e-9,
                "{late_ns} {share}"
            );
        }
        assert_eq!(later_than(&[7]), [(7.0, 100.0)]);
    }

    #[test]
    fn no_wait_is_missing_in_the_histogram() {
        let samples: Vec<i64> = (-3..600).chain([5_000, 9_000]).collect();
        let bins = counts(&samples, 10.0);
        assert_eq!(bins[&0], 13);
        assert_eq!(bins[&(BINS - 1)], 12);
        assert_eq!(bins.values().sum::<u64>(), samples.len() as u64);
    }
}
