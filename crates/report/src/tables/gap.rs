//! The latency of waking up by how long the thread was asleep.

use super::blank::Marks;
use super::grid::Grid;
use crate::select::{self, Row, asked_ns};
use crate::units;
use punctual_record::experiment::Gap;

/// For each call: a line for each time asleep, and how the latency grows.
pub(crate) fn gap(measurements: &[Row<'_, Gap>]) -> Vec<String> {
    select::by_subject(measurements)
        .iter()
        .map(|(call, group)| with(call, group))
        .collect()
}

fn with(call: &str, group: &[Row<'_, Gap>]) -> String {
    let mut grid = Grid::new(
        format!("gap: latency of waking up with {call}, by the time asleep"),
        &["asleep", "n", "p50", "p90", "max"],
    );
    let mut marks = Marks::default();
    let asleep = select::values(group, asked_ns);
    for &ns in &asleep {
        let Some(m) = select::at(group, asked_ns, ns) else {
            continue;
        };
        let late = &m.late_ns;
        grid.row(vec![
            units::nominal(ns),
            late.n.to_string(),
            marks.percentile(&m, late.p50),
            marks.percentile(&m, late.p90),
            marks.measured(&m, late.max as f64),
        ]);
    }
    let mut caption = vec!["Latency: how much longer than asked. n: waits.".to_owned()];
    caption.extend(growth(group, &asleep));
    grid.section(&caption, marks)
}

/// How the latency after the longest time asleep compares with that after the
/// shortest.
fn growth(group: &[Row<'_, Gap>], asleep: &[f64]) -> Option<String> {
    let typical = |ns: f64| select::typical_late_ns(select::at(group, asked_ns, ns)?.m);
    let known: Vec<(f64, f64, bool)> = asleep
        .iter()
        .filter_map(|&ns| typical(ns).map(|(late, is_median)| (ns, late, is_median)))
        .collect();
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
        "From {short} to {long} asleep the {what} latency goes from {first} to {last}{times}{mean}."
    ))
}
