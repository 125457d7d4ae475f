//! How large the error becomes as the scheduler's period grows.

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, Row, asked_ns};
use crate::units;
use punctual_record::experiment::Robustness;

/// Per subject: relative error by the time asked for and the period of the
/// scheduler.
pub(crate) fn robustness(measurements: &[Row<'_, Robustness>]) -> Vec<String> {
    select::by_subject(measurements)
        .iter()
        .map(|(subject, of_subject)| block(subject, of_subject))
        .collect()
}

fn block(subject: &str, measurements: &[Row<'_, Robustness>]) -> String {
    let periods = select::values(measurements, scheduler_ns);
    let mut head = vec!["asked".to_owned(), "n".to_owned()];
    head.extend(periods.iter().map(|&ns| units::nominal(ns)));
    let title = format!("robustness of {subject}: relative error in %");
    let mut grid = Grid::new(title, &head);
    let mut marks = Marks::default();
    for asked in select::values(measurements, asked_ns) {
        let of_row = measurements.iter().copied();
        let of_row: Vec<_> = of_row.filter(|m| asked_ns(m.of) == asked).collect();
        let mut row = vec![
            units::nominal(asked),
            select::counts(of_row.iter().map(|m| m.late_ns.n)),
        ];
        for &period in &periods {
            let error = select::at(&of_row, scheduler_ns, period)
                .and_then(|m| m.of.relative_error.filter(|_| m.late_ns.n > 0));
            row.push(marks.or_blank(error.map(units::error_percent), Why::NotMeasured));
        }
        grid.row(row);
    }
    let caption = format!(
        "Mean |lateness| / asked, n requests each, by the scheduler's period.{}",
        select::simulated_in_words(measurements)
    );
    grid.section(&[caption], marks)
}

fn scheduler_ns(of: &Robustness) -> f64 {
    of.scheduler_period_ns as f64
}
