//! The page a figure is drawn on: title above, caption below.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use punctual_record::{Measurement, Run, RunRow, visible_lines};

use super::svg::Svg;
pub use super::svg::{Canvas, Drawn};
use crate::{prose, select};

/// A point on it, from the upper left corner.
pub type Pixel = (i32, i32);

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
    /// What is written at the top.
    pub title: String,
    /// What the figure shows, and n. The machine is added.
    pub caption: String,
    /// How high the drawing between title and caption is.
    pub height: i32,
}

impl Sheet {
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
    let names: Vec<&str> = subjects.iter().map(|(subject, _)| *subject).collect();
    format!(" The CPU time is approximate for {}.", names.join(", "))
}
