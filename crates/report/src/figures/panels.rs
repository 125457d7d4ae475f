//! Charts below each other on one x axis, as a description, and their drawing.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use punctual_record::Run;

use super::axis::Axis;
use super::chart::{Canvas, Drawn, GREY, Sheet, TOP, WIDTH, text_width, write};
use super::chart::{Chart, Place};

/// The room for the labels of the x axis.
const X_LABELS: i32 = 46;

/// The contents of a figure of panels.
pub(crate) struct Panels<'a> {
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) layout: Layout,
    /// The axis of all of them. Its name is below the last.
    pub(crate) x: Axis,
    /// The quantity of all y axes, where those have no names.
    pub(crate) y: &'static str,
    /// The words above the first panel, with their places on the x axis.
    pub(crate) above: Vec<(f64, String)>,
    pub(crate) panels: Vec<Panel<'a>>,
}

/// One of the charts.
pub(crate) struct Panel<'a> {
    /// The name to the right of the panel, and lines below it.
    pub(crate) name: &'a str,
    pub(crate) lines: Vec<String>,
    pub(crate) y: Axis,
    pub(crate) draw: Drawing<'a>,
}

/// The drawing of a chart at this place.
pub(crate) type Drawing<'a> = Box<dyn Fn(&Canvas, &Chart, Place) -> Drawn + 'a>;

/// How large they are.
pub(crate) struct Layout {
    /// How much of the sheet each has.
    pub(crate) high: i32,
    /// The free room above and below each panel.
    pub(crate) air: (i32, i32),
    /// The free room above the first.
    pub(crate) above: i32,
    /// Their left edge.
    pub(crate) left: i32,
    /// The free room to the right of the names.
    pub(crate) right: i32,
    /// How far below the top of a panel its name is, and how far from each other lines are.
    pub(crate) lines: (i32, i32),
}

impl Layout {
    /// The left and the right edge of charts with such names beside them.
    pub(crate) fn edges<'s>(&self, names: impl Iterator<Item = &'s str>) -> (i32, i32) {
        let widest = names.map(text_width).max().unwrap_or(0).clamp(90, 280);
        (self.left, WIDTH - self.right - widest)
    }
}

impl Panels<'_> {
    /// Draws them.
    pub(crate) fn draw(&self, run: &Run) -> String {
        let Layout { high, above, .. } = self.layout;
        let count = self.panels.len() as i32;
        let height = above + high * count + X_LABELS;
        let sheet = Sheet::new(&self.title, &self.caption, height);
        sheet.draw(run, |canvas| {
            for (i, panel) in self.panels.iter().enumerate() {
                self.panel(canvas, i, panel)?;
            }
            if self.y.is_empty() {
                return Ok(());
            }
            let style = ("sans-serif", 16)
                .into_font()
                .transform(FontTransform::Rotate270);
            let middle = TOP + high * count / 2 + text_width(self.y) / 2;
            canvas.draw(&Text::new(self.y, (20, middle), style))
        })
    }

    fn panel(&self, canvas: &Canvas, i: usize, panel: &Panel) -> Drawn {
        let layout = &self.layout;
        let is_last = i + 1 == self.panels.len();
        let (left, right) = layout.edges(self.panels.iter().map(|panel| panel.name));
        let top = TOP + layout.above + layout.high * i as i32;
        let place = Place {
            left,
            right,
            top: top + layout.air.0,
            bottom: top + layout.high - layout.air.1 + if is_last { X_LABELS } else { 0 },
        };
        let mut x = self.x.clone();
        if !is_last {
            x.name.clear();
        }
        let chart = Chart::new(canvas, place, &x, &panel.y)?;
        (panel.draw)(canvas, &chart, place)?;
        let (below, apart) = layout.lines;
        let (x, y) = (place.right - 10, place.top + below);
        write(canvas, panel.name, (x, y), HPos::Left, &BLACK)?;
        for (y, line) in (y + apart..).step_by(apart as usize).zip(&panel.lines) {
            write(canvas, line, (x, y), HPos::Left, &GREY)?;
        }
        let above = self.above.iter().filter(|_| i == 0);
        above.into_iter().try_for_each(|(at, words)| {
            let at = (chart.pixel(*at, 0.0).0, TOP + layout.above / 2);
            write(canvas, words, at, HPos::Center, &GREY)
        })
    }
}
