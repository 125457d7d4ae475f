//! Clocks: what the OS states, the steps that readings show, and what a reading
//! takes.

use punctual_record::Measurement;

use super::blank::{Marks, Why};
use super::grid::Grid;
use crate::select::{self, is_written_by_the_tick};
use crate::units;

/// A line for each clock, and below it which of them the tick writes.
pub(crate) fn clocks(measurements: &[&Measurement]) -> Vec<String> {
    let mut grid = Grid::new(
        "clocks: the steps in which they move on, and what a reading takes",
        &[
            "clock",
            "stated",
            "step\np50",
            "min",
            "max",
            "n",
            "a reading\np50",
            "n",
            "written by",
        ],
    );
    let mut marks = Marks::default();
    for m in measurements {
        let part = |key, part| select::part(m, key, part);
        let stated = select::extra(m, "stated_ns").map(units::nominal);
        let mut row = vec![m.subject.clone(), marks.or_blank(stated, Why::NotStated)];
        row.extend(["p50", "min", "max"].map(|of| step(&mut marks, m, of)));
        row.push(n(part("step_ns", "n")));
        row.push(summed(&mut marks, m, "read_cost_ns", "p50"));
        row.push(n(part("read_cost_ns", "n")));
        let writer =
            is_written_by_the_tick(m).map(|tick| if tick { "the tick" } else { "counter" });
        row.push(marks.or_blank(writer.map(str::to_owned), Why::NotMeasured));
        grid.row(row);
    }
    let mut caption = vec![
        "stated: the resolution that the OS claims. step: by how much the clock moved on at once, as its \
         readings show; n steps. a reading: its time, n means of many in a row. written by: a clock that moves \
         on by 500 us or more shows the time of the last tick; any other is read from a counter."
            .to_owned(),
    ];
    caption.extend(of_the_tick(measurements));
    vec![grid.section(&caption, marks)]
}

/// To the microsecond, as the tick's is known by the last digits.
fn step(marks: &mut Marks, m: &Measurement, of: &str) -> String {
    match select::part(m, "step_ns", of) {
        Some(ns) => units::fine(ns),
        None => summed(marks, m, "step_ns", of),
    }
}

/// A part of a sum-up, or why it is missing.
fn summed(marks: &mut Marks, m: &Measurement, key: &str, of: &str) -> String {
    let any = select::part(m, key, "n").is_some_and(|n| n > 0.0);
    let value = select::part(m, key, of)
        .filter(|_| any)
        .map(units::duration);
    marks.or_blank(
        value,
        if any {
            Why::FewSamples
        } else {
            Why::NotMeasured
        },
    )
}

fn n(n: Option<f64>) -> String {
    units::plain(n.unwrap_or(0.0))
}

/// Which clocks the tick writes, and what that says of it.
fn of_the_tick(measurements: &[&Measurement]) -> Option<String> {
    let written = measurements
        .iter()
        .copied()
        .filter(|m| is_written_by_the_tick(m) == Some(true));
    let tick = |m: &Measurement| select::extra(m, "tick_ns").or_else(|| select::step_ns(m));
    let by_step = select::grouped(written, |m| tick(m).map(units::fine));
    let any = measurements
        .iter()
        .any(|m| is_written_by_the_tick(m) == Some(true));
    let sentences: Vec<String> = by_step
        .iter()
        .filter_map(|(step, clocks)| {
            let names: Vec<&str> = clocks.iter().map(|m| m.subject.as_str()).collect();
            let verbs = if names.len() == 1 { ("is", "moves") } else { ("are", "move") };
            let per_second = 1e9 / tick(clocks[0])?;
            let longer: f64 = clocks.iter().filter_map(|m| select::extra(m, "longer_steps")).sum();
            let of: f64 = clocks.iter().filter_map(|m| select::part(m, "step_ns", "n")).sum();
            let skipped = match longer > 0.0 {
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
