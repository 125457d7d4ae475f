//! Named rows below each other, on a logarithmic axis of time.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::{Measurement, Run};

use super::axis::Axis;
use super::chart::{Canvas, Drawn, Pixel, Sheet, TOP, WIDTH, text_width, write};
use super::chart::{Chart, Place, legend_of_marks};
use super::style::Look;
use super::svg;
use crate::{select, units};

/// The room that a chart keeps for the labels of its rows, and what is below
/// and above them.
const LABELS: i32 = 70;
const AXIS: i32 = 52;

/// Half the height of a box.
const BOX: i32 = 7;

/// The rows of a figure.
pub struct Rows<'a> {
    names: &'a [String],
    height: i32,
}

impl<'a> Rows<'a> {
    /// Rows with these names, each so high.
    pub fn new(names: &'a [String], height: i32) -> Self {
        Self { names, height }
    }

    /// How high all of them are, with the axis.
    pub fn height(&self) -> i32 {
        self.height * self.names.len() as i32 + AXIS
    }

    /// Draws the axis and the names; room for `legend` is left to the right.
    pub fn chart<'c, 's>(
        &self,
        canvas: &'c Canvas<'s>,
        x: &Axis,
        legend: i32,
    ) -> Drawn<(Chart<'s, 'c>, Place)> {
        self.chart_at(canvas, x, TOP, legend)
    }

    /// The same, below something so high.
    pub fn chart_below<'c, 's>(
        &self,
        canvas: &'c Canvas<'s>,
        x: &Axis,
        above: i32,
    ) -> Drawn<(Chart<'s, 'c>, Place)> {
        self.chart_at(canvas, x, TOP + above, 0)
    }

    fn chart_at<'c, 's>(
        &self,
        canvas: &'c Canvas<'s>,
        x: &Axis,
        top: i32,
        legend: i32,
    ) -> Drawn<(Chart<'s, 'c>, Place)> {
        let widest = self.names.iter().map(|name| text_width(name)).max();
        let left = 36 + widest.unwrap_or(0).clamp(40, 280) - LABELS + 8;
        let place = Place {
            left: left.max(0),
            right: WIDTH - 8 - legend,
            top,
            bottom: top + self.height(),
        };
        let chart = Chart::new(canvas, place, x, &Axis::rows(self.names.len()))?;
        for (i, name) in self.names.iter().enumerate() {
            let (_, y) = self.at(&chart, 1.0, i);
            let at = (place.left + LABELS - 8, y);
            write(canvas, name, at, HPos::Right, &BLACK)?;
        }
        Ok((chart, place))
    }

    /// A length of time in the middle of a row.
    pub fn at(&self, chart: &Chart, ns: f64, row: usize) -> Pixel {
        chart.pixel(ns, (self.names.len() - row) as f64 - 0.5)
    }
}

/// A chart of named rows with marks in them, as a description.
pub(crate) struct RowChart<'a> {
    pub(crate) title: &'a str,
    pub(crate) caption: String,
    /// The quantity of the axis.
    pub(crate) x: &'a str,
    /// How high a row is.
    pub(crate) high: i32,
    /// The rows from the top: their names, and what is drawn in them.
    pub(crate) rows: Vec<(String, Vec<Mark>)>,
    pub(crate) legend: &'a [(&'a str, Look)],
    /// The room for the legend.
    pub(crate) beside: i32,
}

/// A mark in a row: a marker, a box up to the second value, and a line up to the third.
pub(crate) struct Mark {
    look: Look,
    /// How far below the middle of the row.
    below: i32,
    /// The names of the values.
    names: [&'static str; 3],
    values: [Option<f64>; 3],
}

impl Mark {
    /// The median of a measurement, or its mean where so few samples have none, and
    /// its 90th and 99th percentiles.
    pub(crate) fn of(m: &Measurement, look: Look) -> Self {
        let typical = select::typical_ns(m);
        let [p90, p99] = [m.late_ns.p90, m.late_ns.p99].map(|late| late.map(|ns| ns as f64));
        Self {
            look,
            below: 0,
            names: ["typical: ", "p90: ", "p99: "],
            values: [typical, p90, p99],
        }
    }

    /// A marker alone, so far below the middle of the row.
    pub(crate) fn at(look: Look, ns: f64, below: i32) -> Self {
        Self {
            look,
            below,
            names: [""; 3],
            values: [Some(ns), None, None],
        }
    }

    /// The description of the mark, in the row of this name.
    fn in_words(&self, row: &str) -> String {
        let known = self.names.iter().zip(self.values);
        let known =
            known.filter_map(|(name, ns)| Some(format!("\n{name}{}", units::duration(ns?))));
        row.to_owned() + &known.collect::<String>()
    }

    fn draw(&self, canvas: &Canvas, at: impl Fn(f64) -> Pixel) -> Drawn {
        let (look, all) = (self.look, self.values.map(|ns| ns.map(&at)));
        let [Some(typical), p90, p99] = all else {
            return Ok(());
        };
        if let Some(end) = p99 {
            look.line(canvas, &[typical, end])?;
            canvas.draw(&PathElement::new(
                vec![(end.0, end.1 - BOX), (end.0, end.1 + BOX)],
                look.colour.stroke_width(2),
            ))?;
        }
        if let Some((right, y)) = p90 {
            let corners = [(typical.0, y - BOX), (right, y + BOX)];
            canvas.draw(&Rectangle::new(corners, WHITE.filled()))?;
            canvas.draw(&Rectangle::new(corners, look.colour.mix(0.35).filled()))?;
            canvas.draw(&Rectangle::new(corners, look.colour.stroke_width(2)))?;
        }
        look.marker(canvas, (typical.0, typical.1 + self.below))
    }
}

impl RowChart<'_> {
    /// Draws it.
    pub(crate) fn draw(&self, run: &Run) -> String {
        let names: Vec<String> = self.rows.iter().map(|(name, _)| name.clone()).collect();
        let rows = Rows::new(&names, self.high);
        let sheet = Sheet::new(self.title, &self.caption, rows.height());
        let marks = self.rows.iter().flat_map(|(_, marks)| marks);
        let x = Axis::log_ns(self.x, marks.flat_map(|mark| mark.values).flatten());
        sheet.draw(run, |canvas| {
            let (chart, place) = rows.chart(canvas, &x, self.beside)?;
            for (i, (name, marks)) in self.rows.iter().enumerate() {
                for mark in marks {
                    svg::valued(canvas, &mark.in_words(name), || {
                        mark.draw(canvas, |ns| rows.at(&chart, ns, i))
                    })?;
                }
            }
            legend_of_marks(canvas, place, self.legend.iter().copied())
        })
    }
}
