//! How the subjects are told apart: by colour, marker and line at once, so that
//! no figure depends on colour alone.

use plotters::element::DashedPathElement;
use plotters::prelude::*;

use punctual_record::{Measurement, Run};

use super::sheet::{Canvas, Drawn, Pixel};
use crate::select::{self, Kind};

/// The palette of Okabe and Ito ("Color Universal Design", 2008), which people
/// with any common colour blindness can tell apart. Its yellow is left out, as
/// it fades on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// What stands at the points of a series. Six markers and seven colours repeat
/// together only after 42 subjects.
const MARKERS: [Marker; 6] = [
    Marker::Disc,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Ring,
    Marker::Cross,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Disc,
    Square,
    Triangle,
    Diamond,
    Ring,
    Cross,
}

/// The look of one subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    marker: Marker,
    dashed: bool,
}

impl Look {
    /// The look of `subject`, the same in all figures of the run.
    pub(super) fn of(run: &Run, subject: &str) -> Self {
        let lines = run.results.iter().filter(|m| !has_other_looks(m));
        let subjects = select::by_subject(lines);
        let position = subjects.iter().position(|(s, _)| *s == subject);
        Self::nth(position.unwrap_or(subjects.len()))
    }

    /// One of those that differ, where what is told apart are not subjects.
    pub(super) fn nth(i: usize) -> Self {
        Self {
            colour: COLOURS[i % COLOURS.len()],
            marker: MARKERS[i % MARKERS.len()],
            dashed: (i / COLOURS.len()) % 2 == 1,
        }
    }

    /// Draws a line through `points`.
    pub(super) fn line(self, canvas: &Canvas, points: &[Pixel]) -> Drawn {
        let style = self.colour.stroke_width(2);
        if self.dashed {
            let points = points.iter().copied();
            canvas.draw(&DashedPathElement::new(points, 7, 4, style))
        } else {
            canvas.draw(&PathElement::new(points.to_vec(), style))
        }
    }

    /// Draws the marker at a point.
    pub(super) fn marker(self, canvas: &Canvas, at: Pixel) -> Drawn {
        let (x, y) = at;
        let style = self.colour.filled();
        match self.marker {
            Marker::Disc => canvas.draw(&Circle::new(at, 4, style)),
            Marker::Square => canvas.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], style)),
            Marker::Triangle => canvas.draw(&TriangleMarker::new(at, 6, style)),
            Marker::Diamond => {
                let corners = vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)];
                canvas.draw(&Polygon::new(corners, style))
            }
            Marker::Ring => {
                canvas.draw(&Circle::new(at, 4, WHITE.filled()))?;
                canvas.draw(&Circle::new(at, 4, self.colour.stroke_width(2)))
            }
            Marker::Cross => canvas.draw(&Cross::new(at, 4, self.colour.stroke_width(2))),
        }
    }
}

/// Whether what the figure of an experiment tells apart are not its subjects.
fn has_other_looks(m: &Measurement) -> bool {
    let kinds = [
        Kind::Clocks,
        Kind::Timers,
        Kind::Yield,
        Kind::Load,
        Kind::Cores,
        Kind::ZeroPool,
        Kind::ZeroProbe,
    ];
    kinds.contains(&Kind::of(m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_two_subjects_look_different() {
        let looks: Vec<Look> = (0..42).map(Look::nth).collect();
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{i}");
        }
    }
}
