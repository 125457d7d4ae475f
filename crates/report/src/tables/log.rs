//! Logs of other programs.

use punctual_record::{Late, Logged, LoggedKind};

use super::Section;
use super::columns::SUBJECT;
use super::table::{Cell, Table, Why};
use crate::histogram::{histogram, histogram_of};
use crate::select::{Row, grouped};
use crate::units;

/// A log's lateness, or else its lengths.
pub(crate) fn values<'r>(row: Row<'r, Logged>) -> &'r Late {
    match row.of.of {
        LoggedKind::Deadlines | LoggedKind::Waits => &row.m.late_ns,
        LoggedKind::Lengths | LoggedKind::Frames => &row.of.lengths_ns,
    }
}

/// The kind of the values.
pub(crate) const fn what(of: LoggedKind) -> &'static str {
    match of {
        LoggedKind::Deadlines => "lateness of deadlines",
        LoggedKind::Waits => "lateness of waits",
        LoggedKind::Lengths => "lengths",
        LoggedKind::Frames => "frame times",
    }
}

/// For each kind of values a table, and the distribution of the first of them.
pub(crate) fn log(measurements: &[Row<'_, Logged>]) -> Vec<Section> {
    let groups = grouped(measurements.iter().copied(), |row| row.of.of);
    groups
        .into_iter()
        .flat_map(|(of, rows)| of_kind(of, &rows))
        .collect()
}

fn of_kind(of: LoggedKind, rows: &[Row<'_, Logged>]) -> Vec<Section> {
    let what = what(of);
    let percentile = |row: &Row<'_, Logged>, ns: Option<i64>| {
        let why = match row.of.beyond {
            Some(_) => Why::BEYOND,
            None => Why::FEW_SAMPLES,
        };
        Cell::or(ns.map(units::duration), why)
    };
    let table = Table::new(format!("log: {what}"), rows)
        .told([SUBJECT])
        .column("a deadline\nevery", |row| {
            row.of.period_ns.map(units::nominal_fine)
        })
        .if_known()
        .column("n", |row| values(*row).n)
        .column("min", |row| units::duration(values(*row).min))
        .column("p50", |row| percentile(row, values(*row).p50))
        .column("p90", |row| percentile(row, values(*row).p90))
        .column("p99", |row| percentile(row, values(*row).p99))
        .column("p99.9", |row| percentile(row, values(*row).p999))
        .column("p99.99", |row| percentile(row, row.of.p9999_ns))
        .column("max", |row| units::duration(values(*row).max))
        .column("mean", |row| units::duration(values(*row).mean))
        .column("beyond", |row| row.of.beyond.map(|beyond| beyond.n))
        .if_known();
    let mut sections = vec![table.section()];
    if let Some(first) = rows.first() {
        let title = format!("log: {what} of {}", first.m.subject);
        let samples = &first.m.samples_late_ns;
        let slept: Vec<i64> = first
            .m
            .samples_slept_ns
            .iter()
            .map(|ns| *ns as i64)
            .collect();
        let samples = if samples.is_empty() { &slept } else { samples };
        match (first.of.histogram_ns.is_empty(), samples.is_empty()) {
            (false, _) => sections
                .push(histogram(&title, "values in the bins", &first.of.histogram_ns).into()),
            (true, false) => sections.push(histogram_of(&title, "values", samples, &[]).into()),
            (true, true) => {}
        }
    }
    sections
}
