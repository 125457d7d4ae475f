//! A heat map, as a description, and its drawing.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use punctual_record::Run;

use super::chart::{Canvas, Drawn, GREY, Sheet, TOP, write};
use super::svg;

const LEFT: i32 = 120;
/// The least height of a row, and of all rows: the colour scale beside them
/// needs as much.
const LEAST_ROW: i32 = 34;
const LEAST_ROWS: i32 = 7 * LEAST_ROW;
const MOST_COLUMN: i32 = 66;
const COLUMNS_WIDTH: i32 = 680;
const AXIS: i32 = 52;

/// Viridis by Smith and van der Walt (matplotlib 1.5), at nine points: its
/// brightness rises evenly, so it reads the same without colour.
const VIRIDIS: [(u8, u8, u8); 9] = [
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
];

/// The contents of a heat map.
pub(crate) struct HeatMap<'a> {
    pub(crate) title: String,
    pub(crate) caption: String,
    /// The names of the axes.
    pub(crate) axes: [&'a str; 2],
    /// The columns from the left.
    pub(crate) columns: Vec<String>,
    /// The rows from below: their names, and the value of each column.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
    /// A value in writing.
    pub(crate) written: fn(f64) -> String,
    pub(crate) scale: Scale,
}

/// Which colour a value has.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    /// The name of the quantity.
    pub(crate) name: &'static str,
    /// Its ends, as powers of ten.
    pub(crate) ends: (f64, f64),
    /// In how many equal parts it is marked.
    pub(crate) parts: i32,
    /// One of its values in writing.
    pub(crate) written: fn(f64) -> String,
}

impl HeatMap<'_> {
    /// Draws it, with the machine of a run below; without one, the caption tells of the machines.
    pub(crate) fn draw(&self, run: Option<&Run>) -> String {
        let sheet = Sheet::new(&self.title, &self.caption, self.bottom() - TOP + AXIS);
        let drawing = |canvas: &Canvas| {
            for (r, (_, values)) in self.rows.iter().enumerate() {
                for (c, value) in values.iter().enumerate() {
                    self.cell(canvas, (r, c), *value)?;
                }
            }
            self.axes(canvas)?;
            self.scale.draw(canvas, self.right() + 50)
        };
        match run {
            Some(run) => sheet.draw(run, drawing),
            None => sheet.draw_of_several(drawing),
        }
    }

    fn column(&self) -> i32 {
        (COLUMNS_WIDTH / self.columns.len().max(1) as i32).clamp(1, MOST_COLUMN)
    }

    fn row(&self) -> i32 {
        (LEAST_ROWS / self.rows.len().max(1) as i32).max(LEAST_ROW)
    }

    fn right(&self) -> i32 {
        LEFT + self.column() * self.columns.len() as i32
    }

    fn bottom(&self) -> i32 {
        TOP + self.row() * self.rows.len() as i32
    }

    /// The upper left corner of a cell.
    fn corner(&self, (r, c): (usize, usize)) -> (i32, i32) {
        let y = self.bottom() - self.row() * (r as i32 + 1);
        (LEFT + self.column() * c as i32, y)
    }

    fn cell(&self, canvas: &Canvas, at: (usize, usize), value: Option<f64>) -> Drawn {
        let (x, y) = self.corner(at);
        let (text, fill, ink) = match value {
            Some(value) => {
                let share = self.scale.share(value);
                let ink = if share < 0.45 { WHITE } else { BLACK };
                ((self.written)(value), colour(share), ink)
            }
            None => ("-".to_owned(), RGBColor(238, 238, 238), GREY),
        };
        let corners = [(x, y), (x + self.column() - 1, y + self.row() - 1)];
        let middle = (x + self.column() / 2, y + self.row() / 2);
        let words = format!("{}, {}\n{text}", self.rows[at.0].0, self.columns[at.1]);
        svg::valued(canvas, &words, || {
            canvas.draw(&Rectangle::new(corners, fill.filled()))?;
            write(canvas, &text, middle, HPos::Center, &ink)
        })
    }

    fn axes(&self, canvas: &Canvas) -> Drawn {
        for (r, (name, _)) in self.rows.iter().enumerate() {
            let at = (LEFT - 8, self.corner((r, 0)).1 + self.row() / 2);
            write(canvas, name, at, HPos::Right, &BLACK)?;
        }
        for (c, name) in self.columns.iter().enumerate() {
            let x = self.corner((0, c)).0 + self.column() / 2;
            write(canvas, name, (x, self.bottom() + 14), HPos::Center, &BLACK)?;
        }
        let [x, y] = self.axes;
        let middle = (LEFT + self.right()) / 2;
        let at = (middle, self.bottom() + 38);
        write(canvas, x, at, HPos::Center, &BLACK)?;
        let style = ("sans-serif", 15)
            .into_font()
            .transform(FontTransform::Rotate270);
        let at = (28, (TOP + self.bottom()) / 2 + 50);
        canvas.draw(&Text::new(y, at, style))
    }
}

impl Scale {
    /// Draws it, from the least below to the greatest above.
    fn draw(&self, canvas: &Canvas, left: i32) -> Drawn {
        const STEPS: i32 = 50;
        const STEP: i32 = 3;
        let (top, bottom) = (TOP + 34, TOP + 34 + STEPS * STEP);
        write(canvas, self.name, (left, TOP + 10), HPos::Left, &BLACK)?;
        for i in 0..STEPS {
            let y = bottom - STEP * (i + 1);
            let fill = colour((f64::from(i) + 0.5) / f64::from(STEPS));
            let corners = [(left, y), (left + 22, y + STEP)];
            canvas.draw(&Rectangle::new(corners, fill.filled()))?;
        }
        let (from, to) = self.ends;
        for part in 0..=self.parts {
            let share = f64::from(part) / f64::from(self.parts);
            let text = (self.written)(libm::exp10(from + (to - from) * share));
            let y = bottom - (bottom - top) * part / self.parts;
            write(canvas, &text, (left + 30, y), HPos::Left, &BLACK)?;
        }
        Ok(())
    }

    /// Where a value lies on it, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let (from, to) = self.ends;
        // The logarithm of zero is below every scale.
        ((libm::log10(value.max(0.0)) - from) / (to - from)).clamp(0.0, 1.0)
    }
}

fn colour(share: f64) -> RGBColor {
    let position = share * (VIRIDIS.len() - 1) as f64;
    let i = (position as usize).min(VIRIDIS.len() - 2);
    let (from, to) = (VIRIDIS[i], VIRIDIS[i + 1]);
    let part = position - i as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colour_scale_ends_where_it_says() {
        let scale = Scale {
            name: "error",
            ends: (-4.0, 1.0),
            parts: 5,
            written: |error| error.to_string(),
        };
        assert_eq!(scale.share(0.0), 0.0);
        assert_eq!(scale.share(1e-4), 0.0);
        assert_eq!(scale.share(1e6), 1.0);
        assert_eq!(colour(0.0), RGBColor(68, 1, 84));
        assert_eq!(colour(1.0), RGBColor(253, 231, 37));
    }
}
