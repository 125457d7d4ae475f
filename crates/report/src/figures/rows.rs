//! Named rows below each other, on a logarithmic axis of time.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::chart::{Chart, Place};
use super::sheet::{Canvas, Pixel, TOP, WIDTH, text_width, write};

/// The room that a chart keeps for the labels of its rows, and what is below
/// and above them.
const LABELS: i32 = 70;
const AXIS: i32 = 52;

/// The rows of a figure.
pub(super) struct Rows<'a> {
    names: &'a [String],
    height: i32,
}

impl<'a> Rows<'a> {
    /// Rows with these names, each so high.
    pub(super) fn new(names: &'a [String], height: i32) -> Self {
        Self { names, height }
    }

    /// How high all of them are, with the axis.
    pub(super) fn height(&self) -> i32 {
        self.height * self.names.len() as i32 + AXIS
    }

    /// Draws the axis and the names; room for `legend` is left to the right.
    pub(super) fn chart<'c, 's>(
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

    /// A length of time in the middle of a row.
    pub(super) fn at(&self, chart: &Chart, ns: f64, row: usize) -> Pixel {
        chart.pixel(ns, (self.names.len() - row) as f64 - 0.5)
    }
}
