//! Named rows below each other, on a logarithmic axis of time.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::Measurement;

use super::axis::Axis;
use super::chart::{Chart, Place};
use super::sheet::{Canvas, Drawn, Pixel, TOP, WIDTH, text_width, write};
use super::style::Look;
use crate::select;

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
    ) -> Result<(Chart<'s, 'c>, Place), DrawingAreaErrorKind<std::io::Error>> {
        let widest = self.names.iter().map(|name| text_width(name)).max();
        let left = 36 + widest.unwrap_or(0).clamp(40, 280) - LABELS + 8;
        let place = Place {
            left: left.max(0),
            right: WIDTH - 8 - legend,
            top: TOP,
            bottom: TOP + self.height(),
        };
        let chart = Chart::new(canvas, place, x, &Axis::rows(self.names.len()))?;
        for (i, name) in self.names.iter().enumerate() {
            let (_, y) = self.at(&chart, 1.0, i);
            let at = (place.left + LABELS - 8, y);
            write(canvas, name, at, HPos::Right, &BLACK)?;
        }
        Ok((chart, place))
    }

    /// The median of a measurement, or its mean where so few samples have none, and its
    /// 90th and 99th percentiles.
    pub fn percentiles_of(m: &Measurement) -> [Option<f64>; 3] {
        let typical = select::typical_late_ns(m).map(|(ns, _)| ns);
        let late = &m.late_ns;
        [
            typical,
            late.p90.map(|ns| ns as f64),
            late.p99.map(|ns| ns as f64),
        ]
    }

    /// Draws them into a row: a marker, a box up to the second, a line up to the third.
    pub fn percentiles(
        &self,
        canvas: &Canvas,
        chart: &Chart,
        row: usize,
        m: &Measurement,
        look: Look,
    ) -> Drawn {
        let ends = Self::percentiles_of(m).map(|ns| ns.map(|ns| self.at(chart, ns, row)));
        let [Some(typical), p90, p99] = ends else {
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
        look.marker(canvas, typical)
    }

    /// A length of time in the middle of a row.
    pub fn at(&self, chart: &Chart, ns: f64, row: usize) -> Pixel {
        chart.pixel(ns, (self.names.len() - row) as f64 - 0.5)
    }
}
