//! How late each wait is, beside what the timer rule in force predicts.

use punctual_record::Run;
use punctual_record::experiment::Doctor;

use super::figure::{Figure, figure};
use super::rows::{Mark, RowChart};
use super::style::Look;
use crate::select::{self, Row, asked_ns};
use crate::units;

/// A row for each wait: the median, a box up to the 90th percentile, a line up to the
/// 99th, and the predicted median.
pub(super) fn doctor(run: &Run) -> Option<Figure> {
    let mut waits = select::of_run::<Doctor>(run);
    waits.retain(|m| m.late_ns.n > 0);
    if waits.is_empty() {
        return None;
    }
    let [measured, by_rule] = [0, 4].map(Look::nth);
    let row = |m: &Row<'_, Doctor>| {
        let predicted = m.predicted_late_ns;
        let predicted = predicted.map(|ns| Mark::At(by_rule, ns as f64, 0));
        let marks = std::iter::once(Mark::of(m, measured)).chain(predicted);
        let asked = units::nominal_fine(asked_ns(m.of));
        (format!("{asked} {}", m.subject), marks.collect())
    };
    let n = select::counts(waits.iter().map(|m| m.late_ns.n));
    let chart = RowChart {
        title: "Predicted and measured lateness of a wait",
        caption: format!(
            "n = {n} waits each. The disc is the median, the box ends at the 90th percentile, the line at the 99th, where \
             so many waits tell them. Predicted is the median by the timer rule in force, if waking up cost nothing."
        ),
        x: "lateness",
        high: 34,
        rows: waits.iter().map(row).collect(),
        legend: &[("measured", measured), ("predicted", by_rule)],
        beside: 130,
    };
    Some(figure("doctor", chart.draw(run)))
}
