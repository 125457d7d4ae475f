//! How late waits are by the time asked for: a line for each subject, both axes
//! logarithmic.

use punctual_record::Run;
use punctual_record::experiment::OfLength;

use super::axis::{Axis, LEAST_NS};
use super::figure::{Figure, figure};
use super::lines::lines;
use crate::select::{self, Row, asked_ns};

/// What a figure of this kind is about.
pub(super) struct ByLength {
    /// The name of its file.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// What is drawn upwards, `lateness`.
    pub(super) late: &'static str,
    /// What was counted, `requests of each length and subject`.
    pub(super) counted: &'static str,
}

impl ByLength {
    pub(super) fn draw<E: OfLength>(&self, run: &Run) -> Option<Figure> {
        let measurements = select::of_run::<E>(run);
        let all = points(&measurements);
        if all.is_empty() {
            return None;
        }
        let axes = [
            Axis::log_ns("time asked for", all.iter().map(|&(asked, _)| asked)),
            Axis::log_ns(
                &format!("median {}", self.late),
                all.iter().map(|&(_, late)| late),
            ),
        ];
        let words = [self.title.to_owned(), self.caption(&measurements, &all)];
        let svg = lines(run, words, axes, &measurements, points);
        Some(figure(self.name, svg))
    }

    fn caption<E: OfLength>(&self, measurements: &[Row<'_, E>], points: &[(f64, f64)]) -> String {
        let n = select::counts(measurements.iter().map(|m| m.late_ns.n));
        let mut caption = format!("Median {} of n = {n} {}.", self.late, self.counted);
        let means = measurements
            .iter()
            .filter(|m| matches!(select::typical_late_ns(m), Some((_, false))))
            .count();
        if means > 0 {
            caption +=
                &format!(" {means} points are means, as fewer than 20 samples allow no median.");
        }
        let low = points.iter().filter(|(_, late)| *late < LEAST_NS).count();
        if low > 0 {
            caption += &format!(" {low} points below 1 ns, or early, are drawn at 1 ns.");
        }
        if measurements.iter().any(|m| m.of.asked_ns() == 0) {
            caption += " Waits of 0 ns are only in the table.";
        }
        caption
    }
}

/// Asked and late, by what was asked. No time at all has no place on the axis.
fn points<E: OfLength>(measurements: &[Row<'_, E>]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = measurements
        .iter()
        .filter_map(|m| {
            let asked = Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?;
            Some((asked, select::typical_late_ns(m)?.0))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}
