//! A plot between two axes, and the legend to its right.

use plotters::coord::cartesian::Cartesian2d;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::axis::Axis;
use super::sheet::{Canvas, Drawn, Pixel, TOP, WIDTH, text_width, write};
use super::style::Look;

/// How high a chart is at least.
const HEIGHT: i32 = 440;

const LEGEND_LINE: i32 = 24;

/// The place of a chart on its sheet, labels of the axes included.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

impl Place {
    /// The place of the only chart on a sheet, with room for a legend of these
    /// names.
    pub(super) fn beside_legend<'s>(names: impl IntoIterator<Item = &'s str>) -> Self {
        let widths: Vec<i32> = names.into_iter().map(text_width).collect();
        let widest = widths.iter().copied().max().unwrap_or(0);
        let height = HEIGHT.max(LEGEND_LINE * (widths.len() as i32 + 1));
        Self {
            left: 16,
            right: WIDTH - 80 - widest.clamp(60, 280),
            top: TOP,
            bottom: TOP + height,
        }
    }

    /// How high it is.
    pub(super) fn height(self) -> i32 {
        self.bottom - self.top
    }
}

/// A chart whose axes are drawn.
pub(super) struct Chart<'a, 'c> {
    canvas: &'c Canvas<'a>,
    context: ChartContext<'c, SVGBackend<'a>, Cartesian2d<Axis, Axis>>,
}

impl<'a, 'c> Chart<'a, 'c> {
    /// Draws the axes and their grid.
    pub(super) fn new(
        canvas: &'c Canvas<'a>,
        place: Place,
        x: &Axis,
        y: &Axis,
    ) -> Result<Self, DrawingAreaErrorKind<std::io::Error>> {
        let size = (
            (place.right - place.left) as u32,
            (place.bottom - place.top) as u32,
        );
        let area = canvas.clone().shrink((place.left, place.top), size);
        let mut context = ChartBuilder::on(&area)
            .margin_top(6)
            .margin_right(24)
            .x_label_area_size(if x.name.is_empty() { 0 } else { 46 })
            .y_label_area_size(70)
            .build_cartesian_2d(x.clone(), y.clone())?;
        let labels = ("sans-serif", 14).into_font();
        context
            .configure_mesh()
            .x_labels(x.ticks())
            .y_labels(y.ticks())
            .x_label_formatter(&|value| x.written(*value))
            .y_label_formatter(&|value| y.written(*value))
            .x_desc(&x.name)
            .y_desc(&y.name)
            .label_style(labels)
            .axis_desc_style(("sans-serif", 16).into_font())
            .bold_line_style(RGBColor(225, 225, 225))
            .axis_style(RGBColor(120, 120, 120))
            .draw()?;
        Ok(Self { canvas, context })
    }

    /// Where a point of the plot lies on the sheet.
    pub(super) fn pixel(&self, x: f64, y: f64) -> Pixel {
        self.context.backend_coord(&(x, y))
    }

    /// Draws a series: a line with a marker at each point.
    pub(super) fn series(&self, look: Look, points: &[(f64, f64)]) -> Drawn {
        let pixels: Vec<Pixel> = points.iter().map(|&(x, y)| self.pixel(x, y)).collect();
        look.line(self.canvas, &pixels)?;
        pixels
            .iter()
            .try_for_each(|&at| look.marker(self.canvas, at))
    }
}

/// Draws the legend of a chart, a line per subject.
pub(super) fn legend<'s>(
    canvas: &Canvas,
    place: Place,
    entries: impl IntoIterator<Item = (&'s str, Look)>,
) -> Drawn {
    let lines = (place.top + 18..).step_by(LEGEND_LINE as usize);
    for ((name, look), y) in entries.into_iter().zip(lines) {
        look.line(canvas, &[(place.right, y), (place.right + 36, y)])?;
        look.marker(canvas, (place.right + 18, y))?;
        write(canvas, name, (place.right + 46, y), HPos::Left, &BLACK)?;
    }
    Ok(())
}
