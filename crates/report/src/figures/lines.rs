//! A sheet with one chart: a series for each subject, and a legend.

use punctual_record::Run;

use super::axis::Axis;
use super::chart::{Chart, Place, legend};
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Row};

/// The points of one subject.
type Points<E> = fn(&[Row<'_, E>]) -> Vec<(f64, f64)>;

/// A series for each subject of `measurements`, through its `points`.
pub(super) fn lines<E>(
    run: &Run,
    [title, caption]: [String; 2],
    [x, y]: [Axis; 2],
    measurements: &[Row<'_, E>],
    points: Points<E>,
) -> String {
    let subjects = select::by_subject(measurements);
    let place = Place::beside_legend(subjects.iter().map(|&(subject, _)| subject));
    let height = place.height();
    let sheet = Sheet {
        title,
        caption,
        height,
    };
    sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &x, &y)?;
        for (subject, of_subject) in &subjects {
            chart.series(Look::of(run, subject), &points(of_subject))?;
        }
        let entries = subjects.iter().map(|&(s, _)| (s, Look::of(run, s)));
        legend(canvas, place, entries)
    })
}
