//! A chart of lines and points between two axes, as a description, and its drawing.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use punctual_record::{Run, RunRow};

use super::axis::{Axis, LEAST_NS};
use super::chart::{Canvas, Drawn, GREY, Sheet, text_width, write};
use super::chart::{Chart, Place, legend, legend_of_marks};
use super::style::Look;
use super::svg;
use crate::prose;
use crate::select::{self, Row};

/// The contents of a plot.
pub struct Plot {
    /// The title.
    pub title: String,
    /// Further remarks.
    pub caption: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The series, the last drawn above the others. A single one without a name has no legend.
    pub series: Vec<Series>,
}

/// A point by the values of the axes.
pub type Point = (f64, f64);

/// One series.
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// A line through all of these.
    pub line: Vec<Point>,
    /// A marker at each.
    pub marks: Vec<Point>,
    /// Thin lines from one point up to another.
    pub whiskers: Vec<[Point; 2]>,
    /// A thin line at a value of the x axis, from end to end, with words.
    pub upright: Option<(f64, String)>,
}

impl Series {
    /// A line with a marker at each point.
    pub fn new(name: impl Into<String>, look: Look, points: Vec<Point>) -> Self {
        Self {
            name: name.into(),
            look,
            line: points.clone(),
            marks: points,
            whiskers: vec![],
            upright: None,
        }
    }

    /// One for each subject, through its `points`.
    pub(crate) fn of_subjects<E>(
        run: &Run,
        measurements: &[Row<'_, E>],
        points: impl Fn(&[Row<'_, E>]) -> Vec<Point>,
    ) -> Vec<Self> {
        let subjects = select::by_subject(measurements).into_iter();
        let series = |(subject, rows): (&str, Vec<_>)| {
            Self::new(subject, Look::of(run, subject), points(&rows))
        };
        subjects.map(series).collect()
    }

    /// The `i`-th of a chart. The words at the tops of the lines stand on steps, so
    /// that they do not run into each other.
    fn draw(&self, canvas: &Canvas, chart: &Chart, i: usize) -> Drawn {
        svg::series(canvas, &self.name, || self.drawn(canvas, chart, i))
    }

    fn drawn(&self, canvas: &Canvas, chart: &Chart, i: usize) -> Drawn {
        let pixel = |&(x, y): &Point| chart.pixel(x, y);
        let thin = self.look.colour.stroke_width(1);
        for ends in &self.whiskers {
            let ends = ends.iter().map(pixel).collect::<Vec<_>>();
            canvas.draw(&PathElement::new(ends, thin))?;
        }
        if !self.line.is_empty() {
            let line: Vec<_> = self.line.iter().map(pixel).collect();
            let words = self.line.iter().map(|point| chart.values(*point));
            let words = words.filter(|_| self.marks.len() < self.line.len());
            svg::curve(canvas, words, || self.look.line(canvas, &line))?;
        }
        if let Some((at, words)) = &self.upright {
            // A value beyond an axis is drawn at its end.
            let (x, top) = chart.pixel(*at, f64::INFINITY);
            let (left, bottom) = chart.pixel(0.0, 0.0);
            canvas.draw(&PathElement::new(vec![(x, top), (x, bottom)], thin))?;
            let y = top + 12 + 18 * i as i32;
            // The first has nothing but the axis to its left.
            let (x, side) = match i == 0 && x - 5 - text_width(words) > left {
                true => (x - 5, HPos::Right),
                false => (x + 5, HPos::Left),
            };
            write(canvas, words, (x, y), side, &GREY)?;
        }
        let mut marks = self.marks.iter();
        marks.try_for_each(|point| chart.mark(self.look, *point))
    }
}

impl Plot {
    /// Draws it.
    pub fn draw<R: RunRow>(&self, run: &Run<R>) -> String {
        let names = || self.series.iter().map(|series| series.name.as_str());
        let is_named = names().any(|name| !name.is_empty());
        let place = match is_named {
            true => Place::beside_legend(names()),
            false => Place::whole(),
        };
        let sheet = Sheet::new(&self.title, &self.caption, place.height());
        sheet.draw(run, |canvas| {
            let chart = Chart::new(canvas, place, &self.x, &self.y)?;
            for (i, series) in self.series.iter().enumerate() {
                series.draw(canvas, &chart, i)?;
            }
            let entries = names().zip(self.series.iter().map(|series| series.look));
            match (is_named, self.series.iter().any(|s| !s.line.is_empty())) {
                (false, _) => Ok(()),
                (true, true) => legend(canvas, place, entries),
                (true, false) => legend_of_marks(canvas, place, entries),
            }
        })
    }
}

/// For a caption: how many points, or other marks, are no medians.
pub(crate) fn means_in_words<E>(measurements: &[Row<'_, E>], marks: &str) -> String {
    let means = measurements.iter().filter(|m| select::is_mean(m)).count();
    prose::when(means > 0, || {
        format!(" {means} {marks} are means, as fewer than 20 samples allow no median.")
    })
}

/// For a caption: how many points lie below the least that an axis shows.
pub(crate) fn low_in_words(late_ns: impl Iterator<Item = f64>) -> String {
    let low = late_ns.filter(|ns| *ns < LEAST_NS).count();
    prose::when(low > 0, || {
        format!(" {low} points below 1 ns, or early, are drawn at 1 ns.")
    })
}

/// Points from the left.
pub(crate) fn ascending(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut points: Vec<Point> = points.collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}
