//! How large the error becomes as the scheduler's period grows.

use punctual_record::Measurement;

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::{select, units};

/// Per subject: relative error by the time asked for and the period of the
/// scheduler.
pub(crate) fn robustness(measurements: &[&Measurement]) -> Vec<String> {
    select::by_subject(measurements.iter().copied())
        .iter()
        .map(|(subject, of_subject)| block(subject, of_subject))
        .collect()
}

fn block(subject: &str, measurements: &[&Measurement]) -> String {
    let periods = select::values(measurements, "scheduler_period_ns");
    let mut head = vec!["asked".to_owned(), "n".to_owned()];
    head.extend(periods.iter().map(|&ns| units::nominal(ns)));
    let title = format!("robustness of {subject}: relative error in %");
    let mut grid = Grid::new(title, &head);
    let mut marks = Marks::default();
    for (asked, of_row) in rows(measurements) {
        let mut row = vec![
            units::nominal(asked),
            select::counts(of_row.iter().map(|m| m.late_ns.n)),
        ];
        for &period in &periods {
            let error = select::at(&of_row, "scheduler_period_ns", period)
                .and_then(|m| select::extra_of_late(m, "relative_error"));
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

fn rows<'a>(measurements: &[&'a Measurement]) -> Vec<(f64, Vec<&'a Measurement>)> {
    select::values(measurements, "asked_ns")
        .into_iter()
        .map(|asked| {
            let row = measurements
                .iter()
                .filter(|m| select::param(m, "asked_ns") == Some(asked));
            (asked, row.copied().collect())
        })
        .collect()
}
