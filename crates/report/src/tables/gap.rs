//! The latency of waking up by how long the thread was asleep.

use punctual_record::experiment::Gap;

use super::columns::{MAX, N, P50, P90};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row, asked_ns};
use crate::units;

/// For each call: a line for each time asleep, and how the latency grows.
pub(crate) fn gap(measurements: &[Row<'_, Gap>]) -> Vec<Passage> {
    let calls = select::by_subject(measurements);
    let table = |(call, group): &(&str, Vec<Row<'_, Gap>>)| {
        let group = select::ascending(group, asked_ns);
        let title = format!("gap: latency of waking up with {call}, by the time asleep");
        Table::new(title, &group)
            .column("asleep", |m| units::nominal(asked_ns(m.of)))
            .told([N, P50, P90, MAX])
            .caption("Latency: how much longer than asked. n: waits.")
            .captions(growth(&group).map(|growth| format!("With {call}, {growth}")))
            .section()
    };
    calls.iter().map(table).collect()
}

/// How the latency after the longest time asleep compares with that after the
/// shortest, as the end of a sentence.
pub(crate) fn growth(group: &[Row<'_, Gap>]) -> Option<String> {
    let known = group.iter().filter_map(|m| {
        let (late, is_median) = select::typical_late_ns(m)?;
        Some((asked_ns(m.of), late, is_median))
    });
    let known: Vec<(f64, f64, bool)> = known.collect();
    let [(short, first, is_median), .., (long, last, last_is_median)] = known[..] else {
        return None;
    };
    let what = if is_median && last_is_median {
        "median"
    } else {
        "typical"
    };
    let [short, long] = [short, long].map(units::nominal);
    let times = if first > 0.0 && last > 0.0 {
        format!(", {} times as much", units::ratio(last / first))
    } else {
        String::new()
    };
    let [first, last] = [first, last].map(units::duration);
    let mean = if is_median && last_is_median {
        ""
    } else {
        " (the mean where fewer than 20 samples allow no median)"
    };
    Some(format!(
        "from {short} to {long} asleep the {what} latency goes from {first} to {last}{times}{mean}."
    ))
}
