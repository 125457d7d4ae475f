//! Panels below each other on one x axis, which is named below the last.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::chart::Place;
use super::sheet::{Canvas, Drawn, GREY, TOP, WIDTH, text_width, write};

/// The room for the labels of the x axis.
const X_LABELS: i32 = 46;

/// Where the panels of a figure are.
pub(super) struct Panels {
    /// How many there are.
    pub(super) count: usize,
    /// How much of the sheet each has.
    pub(super) high: i32,
    /// What is kept free above each, and below.
    pub(super) air: (i32, i32),
    /// What is kept free above the first.
    pub(super) above: i32,
    /// Their left edge.
    pub(super) left: i32,
    /// What is kept free to the right of what stands beside them.
    pub(super) right: i32,
    /// How wide that is.
    pub(super) beside: i32,
}

/// How wide names beside panels are.
pub(super) fn widest<'s>(names: impl Iterator<Item = &'s str>) -> i32 {
    names.map(text_width).max().unwrap_or(0).clamp(90, 280)
}

impl Panels {
    /// How high all of them are, with the labels of the axis.
    pub(super) fn height(&self) -> i32 {
        self.above + self.high * self.count as i32 + X_LABELS
    }

    /// Whether a panel is the last.
    pub(super) fn is_last(&self, i: usize) -> bool {
        i + 1 == self.count
    }

    /// Where a panel is.
    pub(super) fn place(&self, i: usize) -> Place {
        let top = TOP + self.above + self.high * i as i32;
        let labels = if self.is_last(i) { X_LABELS } else { 0 };
        Place {
            left: self.left,
            right: WIDTH - self.right - self.beside,
            top: top + self.air.0,
            bottom: top + self.high - self.air.1 + labels,
        }
    }
}

/// Writes to the right of a panel, so far below its top: its name, and lines below
/// that so far from each other.
pub(super) fn beside(
    canvas: &Canvas,
    place: Place,
    (below, apart): (i32, i32),
    name: &str,
    lines: &[String],
) -> Drawn {
    let (x, y) = (place.right - 10, place.top + below);
    write(canvas, name, (x, y), HPos::Left, &BLACK)?;
    (y + apart..)
        .step_by(apart as usize)
        .zip(lines)
        .try_for_each(|(y, line)| write(canvas, line, (x, y), HPos::Left, &GREY))
}
