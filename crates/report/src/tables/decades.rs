//! Requests of every length: how late each was.

use punctual_record::experiment::Decades;

use super::columns::{counts, typical};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row, asked_ns};
use crate::units;

/// Median lateness by the time asked for, a column per subject.
pub(crate) fn decades(measurements: &[Row<'_, Decades>]) -> Vec<Passage> {
    let lengths = select::by_value(measurements, asked_ns);
    let mean = |m: &Row<'_, Decades>| matches!(select::typical_late_ns(m), Some((_, false)));
    let any_mean = measurements.iter().any(mean);
    let table = Table::new("decades: lateness by the time asked for", &lengths)
        .column("asked", |(asked, _)| units::nominal(*asked))
        .column("n", |(_, of_length)| counts(of_length))
        .each(select::subjects(measurements), |(_, of_length), subject| {
            select::of_subject(of_length, subject).and_then(|m| typical(&m))
        })
        .caption("Median lateness of n requests of each length.")
        .captions(any_mean.then_some("`m`: the mean, as fewer than 20 samples allow no median."));
    vec![table.section()]
}
