//! A sheet with a title above and a caption below, charts between two axes on it, and legends.

use plotters::coord::cartesian::Cartesian2d;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use punctual_record::{Measurement, Run, RunRow, visible_lines};

use super::axis::Axis;
use super::style::Look;
use super::svg::{self, Svg};
pub use super::svg::{Canvas, Drawn, Pixel};
use crate::{prose, select};

/// The width of every figure.
pub const WIDTH: i32 = 960;

/// Where the drawing begins, below the title.
pub const TOP: i32 = 52;

const CAPTION_LINE: i32 = 18;
const CAPTION_CHARACTERS: usize = 140;

/// The size of text as plotters counts it; the letters are 1.24 times smaller.
const TEXT: i32 = 15;

/// A figure without its drawing.
pub struct Sheet {
    /// The title.
    pub title: String,
    /// The subject of the figure, and n. The machine is added.
    pub caption: String,
    /// How high the drawing between title and caption is.
    pub height: i32,
}

impl Sheet {
    /// A sheet for a drawing so high.
    pub fn new(title: impl Into<String>, caption: impl Into<String>, height: i32) -> Self {
        Self {
            title: title.into(),
            caption: caption.into(),
            height,
        }
    }

    /// Draws the figure with what `drawing` adds between title and caption.
    pub fn draw<R: RunRow>(&self, run: &Run<R>, drawing: impl FnOnce(&Canvas) -> Drawn) -> String {
        let machine = run.machine.in_words();
        self.draw_with(&format!("{} Machine: {machine}.", self.caption), drawing)
    }

    /// The same, where the caption tells of the machines.
    pub fn draw_of_several(&self, drawing: impl FnOnce(&Canvas) -> Drawn) -> String {
        self.draw_with(&self.caption, drawing)
    }

    fn draw_with(&self, caption: &str, drawing: impl FnOnce(&Canvas) -> Drawn) -> String {
        let caption = prose::lines(caption, CAPTION_CHARACTERS);
        let below = TOP + self.height + 12;
        let height = below + CAPTION_LINE * caption.len() as i32 + 12;

        let mut svg = String::new();
        let size = (WIDTH as u32, height as u32);
        let canvas = Svg::new(&mut svg, size, &self.title).into_drawing_area();
        let drawn = canvas
            .fill(&WHITE)
            .and_then(|()| {
                let title = ("sans-serif", 22).into_font().style(FontStyle::Bold);
                let title = title.color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
                canvas.draw(&Text::new(self.title.as_str(), (24, 28), title))
            })
            .and_then(|()| drawing(&canvas))
            .and_then(|()| {
                (below + CAPTION_LINE / 2..)
                    .step_by(CAPTION_LINE as usize)
                    .zip(&caption)
                    .try_for_each(|(y, line)| write(&canvas, line, (24, y), HPos::Left, &GREY))
            })
            .and_then(|()| canvas.present());
        drawn.expect("drawing into a string does not fail");
        drop(canvas);
        // XML has no way at all to say some characters.
        visible_lines(&svg)
    }
}

/// For text that is not the first thing to see.
pub const GREY: RGBColor = RGBColor(80, 80, 80);

/// Writes one line, `at` being its middle in height.
pub fn write(canvas: &Canvas, text: &str, at: Pixel, side: HPos, colour: &RGBColor) -> Drawn {
    let style = ("sans-serif", TEXT).into_font().color(colour);
    canvas.draw(&Text::new(
        text,
        at,
        style.pos(Pos::new(side, VPos::Center)),
    ))
}

/// About how wide a line of text is. Fonts differ; this is rather too wide than
/// too narrow for the common sans-serif ones.
pub fn text_width(text: &str) -> i32 {
    text.chars().count() as i32 * 7
}

/// For a caption: whose CPU time is approximate, if anybody's is.
pub fn approximate_in_words(measurements: &[&Measurement]) -> String {
    let approximate = measurements.iter().filter(|m| m.cpu.approximate).copied();
    let subjects = select::grouped(approximate, |m| m.subject.as_str());
    if subjects.is_empty() {
        return String::new();
    }
    let names = prose::list(subjects.iter().map(|(subject, _)| subject));
    format!(" The CPU time is approximate for {names}.")
}

/// How high a chart is at least.
const HEIGHT: i32 = 440;

const LEGEND_LINE: i32 = 24;

/// The room for the labels of an axis that has a name, and of one that has none.
const X_LABELS: i32 = 46;
const Y_LABELS: i32 = 70;
const BARE_LABELS: (i32, i32) = (24, 44);

/// The place of a chart on its sheet, labels of the axes included.
#[derive(Clone, Copy)]
pub struct Place {
    /// Its left edge.
    pub left: i32,
    /// Its right edge.
    pub right: i32,
    /// Its upper edge.
    pub top: i32,
    /// Its lower edge.
    pub bottom: i32,
}

impl Place {
    /// The place of the only chart on a sheet, with room for a legend of these
    /// names.
    pub fn beside_legend<'s>(names: impl IntoIterator<Item = &'s str>) -> Self {
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

    /// The place of a chart without a legend.
    pub fn whole() -> Self {
        Self {
            right: WIDTH - 8,
            ..Self::beside_legend([])
        }
    }

    /// How high it is.
    pub fn height(self) -> i32 {
        self.bottom - self.top
    }
}

/// A chart whose axes are drawn.
pub struct Chart<'a, 'c> {
    canvas: &'c Canvas<'a>,
    context: ChartContext<'c, Svg<'a>, Cartesian2d<Axis, Axis>>,
    /// The axes, to describe a mark.
    axes: [Axis; 2],
}

impl<'a, 'c> Chart<'a, 'c> {
    /// Draws the axes and their grid. An x axis without a name has no ticks
    /// either: it is that of the chart below.
    pub fn new(canvas: &'c Canvas<'a>, place: Place, x: &Axis, y: &Axis) -> Drawn<Self> {
        let x_labels = if x.name.is_empty() { 0 } else { X_LABELS };
        Self::with_labels(canvas, place, (x, x_labels), (y, Y_LABELS))
    }

    /// A chart beside others of the same axes: an axis without a name has ticks
    /// only, and takes less room.
    pub fn panel(canvas: &'c Canvas<'a>, place: Place, x: &Axis, y: &Axis) -> Drawn<Self> {
        let room = |axis: &Axis, named, bare| if axis.name.is_empty() { bare } else { named };
        let x_labels = room(x, X_LABELS, BARE_LABELS.0);
        let y_labels = room(y, Y_LABELS, BARE_LABELS.1);
        Self::with_labels(canvas, place, (x, x_labels), (y, y_labels))
    }

    fn with_labels(
        canvas: &'c Canvas<'a>,
        place: Place,
        (x, x_labels): (&Axis, i32),
        (y, y_labels): (&Axis, i32),
    ) -> Drawn<Self> {
        let size = (
            (place.right - place.left) as u32,
            (place.bottom - place.top) as u32,
        );
        let area = canvas.clone().shrink((place.left, place.top), size);
        let mut context = ChartBuilder::on(&area)
            .margin_top(6)
            .margin_right(24)
            .x_label_area_size(x_labels)
            .y_label_area_size(y_labels)
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
        let axes = [x.clone(), y.clone()];
        Ok(Self {
            canvas,
            context,
            axes,
        })
    }

    /// Where a point of the plot lies on the sheet.
    pub fn pixel(&self, x: f64, y: f64) -> Pixel {
        self.context.backend_coord(&(x, y))
    }

    /// Draws a marker that says what it stands for.
    pub fn mark(&self, look: Look, point: (f64, f64)) -> Drawn {
        let at = self.pixel(point.0, point.1);
        svg::valued(self.canvas, &self.in_words(point), || {
            look.marker(self.canvas, at)
        })
    }

    /// The description of a point.
    pub fn in_words(&self, (x, y): (f64, f64)) -> String {
        let of = |axis: &Axis, value| format!("{}: {}", axis.name, axis.value(value));
        let [x_axis, y_axis] = &self.axes;
        [of(x_axis, x), of(y_axis, y)].join("\n")
    }

    /// The same in brief, without the names of the axes.
    pub fn values(&self, (x, y): (f64, f64)) -> String {
        let [x_axis, y_axis] = &self.axes;
        format!("{}, {}", x_axis.value(x), y_axis.value(y))
    }
}

/// Draws the legend of a chart of lines with marks, a line per subject.
pub fn legend<'s>(
    canvas: &Canvas,
    place: Place,
    entries: impl IntoIterator<Item = (&'s str, Look)>,
) -> Drawn {
    let entries: Vec<_> = entries.into_iter().collect();
    for ((name, look), y) in entries.iter().zip(legend_lines(place)) {
        svg::entry(canvas, name, || {
            look.line(canvas, &[(place.right, y), (place.right + 36, y)])
        })?;
    }
    legend_of_marks(canvas, place, entries)
}

fn legend_lines(place: Place) -> impl Iterator<Item = i32> {
    (place.top + 18..).step_by(LEGEND_LINE as usize)
}

/// The same for a chart that has marks only.
pub fn legend_of_marks<'s>(
    canvas: &Canvas,
    place: Place,
    entries: impl IntoIterator<Item = (&'s str, Look)>,
) -> Drawn {
    for ((name, look), y) in entries.into_iter().zip(legend_lines(place)) {
        svg::entry(canvas, name, || {
            look.marker(canvas, (place.right + 18, y))?;
            write(canvas, name, (place.right + 46, y), HPos::Left, &BLACK)
        })?;
    }
    Ok(())
}

/// A legend in lines above a drawing, for charts that need the whole width.
pub struct LegendAbove {
    /// The places of its entries, and how high all of them are.
    places: Vec<Pixel>,
    height: i32,
}

/// From the begin of an entry to its name, and from its end to the next.
const NAME: i32 = 44;
const GAP: i32 = 26;

impl LegendAbove {
    /// A legend of these names, below `top`.
    pub fn new<'s>(top: i32, names: impl IntoIterator<Item = &'s str>) -> Self {
        let (mut x, mut y) = (LEFT, top + LEGEND_LINE / 2);
        let mut places = Vec::new();
        for name in names {
            let wide = NAME + text_width(name);
            if x > LEFT && x + wide > WIDTH - LEFT {
                (x, y) = (LEFT, y + LEGEND_LINE);
            }
            places.push((x, y));
            x += wide + GAP;
        }
        Self {
            places,
            height: y + LEGEND_LINE / 2 - top,
        }
    }

    /// How high it is.
    pub fn height(&self) -> i32 {
        self.height
    }

    /// Draws the names, and what `sample` draws in the 36 pixels to the right of
    /// a point.
    pub fn draw<'s>(
        &self,
        canvas: &Canvas,
        names: impl IntoIterator<Item = &'s str>,
        sample: impl Fn(usize, Pixel) -> Drawn,
    ) -> Drawn {
        for (i, (name, &(x, y))) in names.into_iter().zip(&self.places).enumerate() {
            svg::entry(canvas, name, || {
                sample(i, (x, y))?;
                write(canvas, name, (x + NAME, y), HPos::Left, &BLACK)
            })?;
        }
        Ok(())
    }
}

/// Where titles and captions begin.
const LEFT: i32 = 24;
