//! Panels of bars below each other, as a description, and their drawing.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use punctual_record::Run;

use super::chart::LegendAbove;
use super::chart::{Canvas, Drawn, GREY, Sheet, TOP, WIDTH, write};
use super::svg;

const PANEL: i32 = 150;
const HIGH: i32 = 100;
const LEFT: i32 = 80;
const RIGHT: i32 = 24;

/// No bar is wider.
const WIDEST_BAR: i32 = 70;

/// What a figure of this kind shows.
pub(super) struct Bars {
    pub(super) title: String,
    pub(super) caption: String,
    /// What the names below the bars are.
    pub(super) x: &'static str,
    /// The bars from the left: the name below each, and what it is drawn in.
    pub(super) bars: Vec<(String, LegendEntry)>,
    /// The panels from above: their names, and how high each bar is, from 0 to 1.
    pub(super) panels: Vec<(String, Vec<f64>)>,
}

/// What tells bars apart: a name for the legend, and a colour.
pub(super) type LegendEntry = (&'static str, RGBColor);

impl Bars {
    /// Draws them.
    pub(super) fn draw(&self, run: &Run) -> String {
        let mut kinds: Vec<LegendEntry> = self.bars.iter().map(|(_, kind)| *kind).collect();
        kinds.dedup();
        let names = || kinds.iter().map(|(name, _)| *name);
        let legend = LegendAbove::new(TOP, names());
        let top = TOP + legend.height() + 6;
        let height = PANEL * self.panels.len() as i32;
        let sheet = Sheet::new(&self.title, &self.caption, top - TOP + height + 24);
        sheet.draw(run, |canvas| {
            legend.draw(canvas, names(), |i, (x, y)| {
                let corners = [(x, y - 6), (x + 36, y + 6)];
                canvas.draw(&Rectangle::new(corners, kinds[i].1.filled()))
            })?;
            for (i, (name, shares)) in self.panels.iter().enumerate() {
                self.panel(canvas, top + PANEL * i as i32, name, shares)?;
            }
            let middle = ((LEFT + WIDTH - RIGHT) / 2, top + height + 8);
            write(canvas, self.x, middle, HPos::Center, &BLACK)
        })
    }

    fn panel(&self, canvas: &Canvas, top: i32, name: &str, shares: &[f64]) -> Drawn {
        let bottom = top + 24 + HIGH;
        write(canvas, name, (LEFT, top + 10), HPos::Left, &BLACK)?;
        for percent in [0, 50, 100] {
            let y = bottom - HIGH * percent / 100;
            let line = vec![(LEFT, y), (WIDTH - RIGHT, y)];
            canvas.draw(&PathElement::new(line, RGBColor(225, 225, 225)))?;
            let percent = format!("{percent} %");
            write(canvas, &percent, (LEFT - 8, y), HPos::Right, &GREY)?;
        }
        let width = (WIDTH - RIGHT - LEFT) / self.bars.len().max(1) as i32;
        for (i, ((name, (kind, colour)), share)) in self.bars.iter().zip(shares).enumerate() {
            let middle = LEFT + width * i as i32 + width / 2;
            let high = (share * f64::from(HIGH)).round() as i32;
            if high > 0 {
                let half = (width / 2 - 3).min(WIDEST_BAR / 2);
                let corners = [(middle - half, bottom - high), (middle + half, bottom)];
                // Above the bar, or in it where it reaches up to the name of the panel.
                let (above, ink) = if high > HIGH - 14 {
                    (-10, WHITE)
                } else {
                    (9, BLACK)
                };
                // To the per cent, as a bar shows no more.
                let percent = format!("{:.0} %", share * 100.0);
                let at = (middle, bottom - high - above);
                let words = format!("{name}\n{percent}");
                svg::series(canvas, kind, || {
                    svg::valued(canvas, &words, || {
                        canvas.draw(&Rectangle::new(corners, colour.filled()))
                    })?;
                    write(canvas, &percent, at, HPos::Center, &ink)
                })?;
            }
            write(canvas, name, (middle, bottom + 12), HPos::Center, &GREY)?;
        }
        Ok(())
    }
}
