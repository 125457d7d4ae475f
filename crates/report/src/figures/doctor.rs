//! How late each wait is, beside what the timer rule in force predicts.

use punctual_record::experiment::Doctor;
use punctual_record::{Measurement, Run};

use super::axis::Axis;
use super::chart::legend_of_marks;
use super::figure::{Figure, figure};
use super::rows::Rows;
use super::sheet::Sheet;
use super::style::Look;
use crate::select::{self, Row, asked_ns};
use crate::units;

const ROW: i32 = 34;
const LEGEND: [(&str, usize); 2] = [("measured", 0), ("predicted", 4)];
/// The room for the legend.
const BESIDE: i32 = 130;

/// A row for each wait: the median, a box up to the 90th percentile, a line up to the
/// 99th, and the predicted median.
pub(super) fn doctor(run: &Run) -> Option<Figure> {
    let mut waits = select::of_run::<Doctor>(run);
    waits.retain(|m| m.late_ns.n > 0);
    if waits.is_empty() {
        return None;
    }
    let name =
        |m: &Row<'_, Doctor>| format!("{} {}", units::nominal_fine(asked_ns(m.of)), m.subject);
    let names: Vec<String> = waits.iter().map(name).collect();
    let rows = Rows::new(&names, ROW);
    let n = select::counts(waits.iter().map(|m| m.late_ns.n));
    let sheet = Sheet {
        title: "Predicted and measured lateness of a wait".to_owned(),
        caption: format!(
            "n = {n} waits each. The disc is the median, the box ends at the 90th percentile, the line at the 99th, where \
             so many waits tell them. Predicted is the median by the timer rule in force, if waking up cost nothing."
        ),
        height: rows.height(),
    };
    let predicted = |m: &Measurement| m.predicted_late_ns.map(|ns| ns as f64);
    let all = waits.iter().flat_map(|m| {
        let [typical, p90, p99] = Rows::percentiles_of(m);
        [typical, p90, p99, predicted(m)]
    });
    let x = Axis::log_ns("lateness", all.flatten());
    let svg = sheet.draw(run, |canvas| {
        let (chart, place) = rows.chart(canvas, &x, BESIDE)?;
        let [measured, by_rule] = LEGEND.map(|(_, look)| Look::nth(look));
        for (i, m) in waits.iter().enumerate() {
            rows.percentiles(canvas, &chart, i, m, measured)?;
            if let Some(ns) = predicted(m) {
                by_rule.marker(canvas, rows.at(&chart, ns, i))?;
            }
        }
        legend_of_marks(
            canvas,
            place,
            LEGEND.map(|(name, look)| (name, Look::nth(look))),
        )
    });
    Some(figure("doctor", svg))
}
