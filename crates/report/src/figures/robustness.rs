//! Article figure 4: how large the error becomes as the scheduler's period
//! grows.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::experiment::Robustness;

use punctual_record::Run;

use super::figure::{Figure, figure};
use super::sheet::{Canvas, Drawn, GREY, Sheet, TOP, write};
use crate::select::{self, Row, asked_ns};
use crate::units;

const LEFT: i32 = 120;
/// The least height of a row, and of all rows: the colour scale beside them
/// needs as much.
const LEAST_ROW: i32 = 34;
const LEAST_ROWS: i32 = 7 * LEAST_ROW;
const MOST_COLUMN: i32 = 66;
const COLUMNS_WIDTH: i32 = 680;
const AXIS: i32 = 52;

/// The ends of the colour scale, as powers of ten of the relative error: a
/// hundredth of a per cent and ten times the request. They are the same in every
/// figure, so that two of them can be compared.
const SCALE: (f64, f64) = (-4.0, 1.0);

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

/// For each subject, a heat map of the relative error.
pub(super) fn robustness(run: &Run) -> Vec<Figure> {
    select::by_subject(&select::of_run::<Robustness>(run))
        .iter()
        .filter(|(_, group)| group.iter().any(|m| error(*m).is_some()))
        .map(|(subject, group)| of_subject(run, subject, group))
        .collect()
}

fn of_subject(run: &Run, subject: &str, group: &[Row<'_, Robustness>]) -> Figure {
    let periods = select::values(group, scheduler_ns);
    let asked = select::values(group, asked_ns);
    let row = (LEAST_ROWS / asked.len().max(1) as i32).max(LEAST_ROW);
    let sheet = Sheet {
        title: format!("Relative error of {subject} by the scheduler's period"),
        caption: format!(
            "Mean |lateness| / time asked for, in %, n = {} requests each. Yellow is poor and dark \
             is good; the colours end at 0.01 % and 1000 %.{}",
            select::counts(group.iter().map(|m| m.late_ns.n)),
            select::simulated_in_words(group)
        ),
        height: row * asked.len() as i32 + AXIS,
    };
    let column = (COLUMNS_WIDTH / periods.len().max(1) as i32).clamp(1, MOST_COLUMN);
    let map = Map {
        periods,
        asked,
        column,
        row,
    };
    let svg = sheet.draw(run, |canvas| {
        map.cells(canvas, group)?;
        map.axes(canvas)?;
        scale(canvas, map.right() + 50)
    });
    figure(&format!("robustness-{subject}"), svg)
}

struct Map {
    periods: Vec<f64>,
    asked: Vec<f64>,
    column: i32,
    row: i32,
}

impl Map {
    fn right(&self) -> i32 {
        LEFT + self.column * self.periods.len() as i32
    }

    fn bottom(&self) -> i32 {
        TOP + self.row * self.asked.len() as i32
    }

    /// The shortest request is the lowest row.
    fn top_of_row(&self, i: usize) -> i32 {
        self.bottom() - self.row * (i as i32 + 1)
    }

    fn cells(&self, canvas: &Canvas, group: &[Row<'_, Robustness>]) -> Drawn {
        for (r, &asked) in self.asked.iter().enumerate() {
            let of_row = group.iter().copied();
            let of_row: Vec<_> = of_row.filter(|m| asked_ns(m.of) == asked).collect();
            for (c, &period) in self.periods.iter().enumerate() {
                let m = select::at(&of_row, scheduler_ns, period);
                self.cell(canvas, (r, c), m.and_then(error))?;
            }
        }
        Ok(())
    }

    fn cell(&self, canvas: &Canvas, (r, c): (usize, usize), error: Option<f64>) -> Drawn {
        let (x, y) = (LEFT + self.column * c as i32, self.top_of_row(r));
        let (text, fill, ink) = match error {
            Some(error) => {
                let share = share(error);
                let ink = if share < 0.45 { WHITE } else { BLACK };
                (units::error_percent(error), colour(share), ink)
            }
            None => ("-".to_owned(), RGBColor(238, 238, 238), GREY),
        };
        let corners = [(x, y), (x + self.column - 1, y + self.row - 1)];
        canvas.draw(&Rectangle::new(corners, fill.filled()))?;
        let middle = (x + self.column / 2, y + self.row / 2);
        write(canvas, &text, middle, HPos::Center, &ink)
    }

    fn axes(&self, canvas: &Canvas) -> Drawn {
        for (r, &asked) in self.asked.iter().enumerate() {
            let at = (LEFT - 8, self.top_of_row(r) + self.row / 2);
            write(canvas, &units::nominal(asked), at, HPos::Right, &BLACK)?;
        }
        for (c, &period) in self.periods.iter().enumerate() {
            let x = LEFT + self.column * c as i32 + self.column / 2;
            let at = (x, self.bottom() + 14);
            write(canvas, &units::nominal(period), at, HPos::Center, &BLACK)?;
        }
        let middle = (LEFT + self.right()) / 2;
        let at = (middle, self.bottom() + 38);
        write(canvas, "scheduler period", at, HPos::Center, &BLACK)?;
        let style = ("sans-serif", 15)
            .into_font()
            .transform(FontTransform::Rotate270);
        let at = (28, (TOP + self.bottom()) / 2 + 50);
        canvas.draw(&Text::new("time asked for", at, style))
    }
}

/// Draws the colour scale, from good below to poor above.
fn scale(canvas: &Canvas, left: i32) -> Drawn {
    const STEPS: i32 = 50;
    const STEP: i32 = 3;
    let (top, bottom) = (TOP + 34, TOP + 34 + STEPS * STEP);
    write(
        canvas,
        "relative error",
        (left, TOP + 10),
        HPos::Left,
        &BLACK,
    )?;
    for i in 0..STEPS {
        let y = bottom - STEP * (i + 1);
        let fill = colour((f64::from(i) + 0.5) / f64::from(STEPS));
        canvas.draw(&Rectangle::new(
            [(left, y), (left + 22, y + STEP)],
            fill.filled(),
        ))?;
    }
    let decades = (SCALE.1 - SCALE.0) as i32;
    for decade in 0..=decades {
        let error = libm::exp10(SCALE.0 + f64::from(decade));
        let text = format!("{} %", units::plain(error * 100.0));
        let y = bottom - (bottom - top) * decade / decades;
        write(canvas, &text, (left + 30, y), HPos::Left, &BLACK)?;
    }
    Ok(())
}

fn scheduler_ns(of: &Robustness) -> f64 {
    of.scheduler_period_ns as f64
}

fn error(m: Row<'_, Robustness>) -> Option<f64> {
    m.of.relative_error.filter(|_| m.late_ns.n > 0)
}

/// Where an error lies on the colour scale, from 0 to 1.
fn share(error: f64) -> f64 {
    let (from, to) = SCALE;
    // The logarithm of zero is below every scale.
    ((libm::log10(error.max(0.0)) - from) / (to - from)).clamp(0.0, 1.0)
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
        assert_eq!(share(0.0), 0.0);
        assert_eq!(share(1e-4), 0.0);
        assert_eq!(share(1e6), 1.0);
        assert_eq!(colour(0.0), RGBColor(68, 1, 84));
        assert_eq!(colour(1.0), RGBColor(253, 231, 37));
    }
}
