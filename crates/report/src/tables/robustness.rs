//! How large the error becomes as the scheduler's period grows.

use punctual_record::experiment::Robustness;

use super::columns::counts;
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row, asked_ns};
use crate::units;

/// Per subject: relative error by the time asked for and the period of the
/// scheduler.
pub(crate) fn robustness(measurements: &[Row<'_, Robustness>]) -> Vec<Passage> {
    let subjects = select::by_subject(measurements);
    let blocks = subjects
        .iter()
        .map(|(subject, of_it)| block(subject, of_it));
    blocks.collect()
}

fn block(subject: &str, measurements: &[Row<'_, Robustness>]) -> Passage {
    let periods = select::values(measurements, scheduler_ns).into_iter();
    let lengths = select::by_value(measurements, asked_ns);
    let title = format!("robustness of {subject}: relative error in %");
    Table::new(title, &lengths)
        .column("asked", |(asked, _)| units::nominal(*asked))
        .column("n", |(_, of_length)| counts(of_length))
        .each(
            periods.map(|period| (units::nominal(period), period)),
            |(_, of_length), period| {
                let m = select::at(of_length, scheduler_ns, *period)?;
                let error = m.of.relative_error.filter(|_| m.late_ns.n > 0);
                error.map(units::error_percent)
            },
        )
        .caption(format!(
            "Mean |lateness| / asked, n requests each, by the scheduler's period.{}",
            select::simulated_in_words(measurements)
        ))
        .section()
}

fn scheduler_ns(of: &Robustness) -> f64 {
    of.scheduler_period_ns as f64
}
