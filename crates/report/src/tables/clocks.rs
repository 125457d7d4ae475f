//! Clocks: what the OS states, the steps that readings show, and what a reading
//! takes.

use punctual_record::experiment::{Clocks, Lengths};

use super::blank::Why;
use super::columns::{SUBJECT, named};
use super::grid::Passage;
use super::table::{Cell, Table};
use crate::select::{self, Row};
use crate::units;

/// A line for each clock, and below it which of them the tick writes.
pub(crate) fn clocks(measurements: &[Row<'_, Clocks>]) -> Vec<Passage> {
    let table = Table::new(
        "clocks: the steps in which they move on, and what a reading takes",
        measurements,
    )
    .told([named("clock", SUBJECT)])
    .column("stated", |m| m.of.stated_ns.map(units::nominal))
    .blank(Why::NotStated)
    // To the microsecond, as the tick's is known by the last digits.
    .column("step\np50", |m| median(m.of.step_ns, units::fine))
    .column("min", |m| Some(units::fine(m.of.step_ns?.min)))
    .column("max", |m| Some(units::fine(m.of.step_ns?.max)))
    .column("n", |m| n(m.of.step_ns))
    .column("a reading\np50", |m| median(m.of.read_cost_ns, units::duration))
    .column("n", |m| n(m.of.read_cost_ns))
    .column("written by", |m| Some(if m.of.tick_written? { "the tick" } else { "counter" }))
    .caption(
        "stated: the resolution that the OS claims. step: by how much the clock moved on at once, as its \
         readings show; n steps. a reading: its time, n means of many in a row. written by: a clock that moves \
         on by 500 us or more shows the time of the last tick; any other is read from a counter.",
    )
    .captions(of_the_tick(measurements));
    vec![table.section()]
}

/// The median, or why it is missing.
fn median(of: Option<Lengths>, written: fn(u64) -> String) -> Cell {
    match of {
        Some(lengths) => Cell::or(lengths.p50.map(written), Why::FewSamples),
        None => Cell::or(None, Why::NotMeasured),
    }
}

fn n(lengths: Option<Lengths>) -> u64 {
    lengths.map_or(0, |lengths| lengths.n)
}

/// Which clocks the tick writes, and what that says of it.
fn of_the_tick(measurements: &[Row<'_, Clocks>]) -> Option<String> {
    let written = measurements.iter().copied();
    let written = written.filter(|m| m.of.tick_written == Some(true));
    let tick = |of: &Clocks| Some(of.tick_ns.or(of.step_ns?.p50)? as f64);
    let by_step = select::grouped(written, |m| tick(m.of).map(units::fine));
    let any = !by_step.is_empty();
    let sentences: Vec<String> = by_step
        .iter()
        .filter_map(|(step, clocks)| {
            let names: Vec<&str> = clocks.iter().map(|m| m.m.subject.as_str()).collect();
            let verbs = if names.len() == 1 { ("is", "moves") } else { ("are", "move") };
            let per_second = 1e9 / tick(clocks[0].of)?;
            let longer: u64 = clocks.iter().filter_map(|m| m.of.longer_steps).sum();
            let of: u64 = clocks.iter().filter_map(|m| Some(m.of.step_ns?.n)).sum();
            let skipped = match longer > 0 {
                true => format!("; {longer} of {of} steps were longer: ticks were skipped"),
                false => String::new(),
            };
            Some(format!(
                "{} {} written by the tick and {} on by {} at a time, which is about {} ticks a second{skipped}.",
                names.join(", "),
                verbs.0,
                verbs.1,
                step.as_ref()?,
                units::per_second(per_second)
            ))
        })
        .collect();
    match (sentences.is_empty(), any) {
        (false, _) => Some(sentences.join(" ")),
        (true, false) => Some("None of these clocks shows a tick.".to_owned()),
        // So few steps have no median.
        (true, true) => None,
    }
}
