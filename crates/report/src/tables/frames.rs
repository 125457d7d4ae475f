//! The article's thousand frames.

use punctual_record::experiment::{Frames, Pace};

use super::columns::{CPU, N, OVER_1MS, SUBJECT, named};
use super::grid::Passage;
use super::table::Table;
use crate::select::{self, Row};
use crate::units;

/// For each rate: the shortest and the longest frame, and how far they are off.
pub(crate) fn frames(measurements: &[Row<'_, Pace>]) -> Vec<Passage> {
    let rates = select::grouped(measurements.iter().copied(), select::rate);
    let tables = rates.iter().map(|(rate, group)| at_rate(rate, group));
    tables.collect()
}

fn at_rate(rate: &str, group: &[Row<'_, Pace>]) -> Passage {
    let wanted = group.first().map_or_else(String::new, |m| {
        format!(" A frame should take {}.", units::nominal(m.of.period_ns))
    });
    Table::new(format!("frames at {rate}"), group)
        .told([SUBJECT, N])
        // Three digits would make all frames the same: what tells them apart comes after.
        .column("frame min", |m| Some(units::ms(known(m)?.min_ns, 3)))
        .column("frame max", |m| Some(units::ms(known(m)?.max_ns, 3)))
        .column("mean absolute error", |m| Some(units::duration(known(m)?.mean_abs_error_ns)))
        .told([named("> 1 ms %", OVER_1MS), CPU])
        .caption(format!(
            "n: waits. frame: the time from one wake to the next.{wanted} > 1 ms: the waits that ended \
             more than 1 ms late. CPU: time billed to the thread."
        ))
        .section()
}

fn known(m: &Row<'_, Pace>) -> Option<Frames> {
    m.of.frames.filter(|_| m.late_ns.n > 0)
}
