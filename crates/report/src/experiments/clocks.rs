//! Clocks: their steps, and the time of a reading.

use punctual_record::Run;
use punctual_record::experiment::{Clocks, Lengths};

use super::TABLES;
use crate::select::{self, Row};
use crate::tables::Section;
use crate::tables::columns::{SUBJECT, named};
use crate::tables::table::{Cell, Table, Why};
use crate::verdict::Verdict;
use crate::{prose, units};

/// A line for each clock, and below it which of them the tick writes.
pub(crate) fn tables(measurements: &[Row<'_, Clocks>]) -> Vec<Section> {
    let table = Table::new(
        "clocks: the steps in which they move on, and what a reading takes",
        measurements,
    )
    .told([named("clock", SUBJECT)])
    .column("stated", |m| m.of.stated_ns.map(units::nominal))
    .blank(Why::NOT_STATED)
    // To the microsecond, as the tick's is known by the last digits.
    .column("step\np50", |m| median(m.of.step_ns, units::fine))
    .column("min", |m| Some(units::fine(m.of.step_ns?.min)))
    .column("max", |m| Some(units::fine(m.of.step_ns?.max)))
    .column("n", |m| how_many(m.of.step_ns))
    .column("a reading\np50", |m| median(m.of.read_cost_ns, units::duration))
    .column("n", |m| how_many(m.of.read_cost_ns))
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
        Some(lengths) => Cell::or(lengths.p50.map(written), Why::FEW_SAMPLES),
        None => Cell::or(None, Why::NOT_MEASURED),
    }
}

fn how_many(lengths: Option<Lengths>) -> u64 {
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
            let names = prose::list(clocks.iter().map(|m| &m.m.subject));
            let verbs = if clocks.len() == 1 { ("is", "moves") } else { ("are", "move") };
            let per_second = 1e9 / tick(clocks[0].of)?;
            let longer: u64 = clocks.iter().filter_map(|m| m.of.longer_steps).sum();
            let of: u64 = clocks.iter().filter_map(|m| Some(m.of.step_ns?.n)).sum();
            let skipped = match longer > 0 {
                true => format!("; {longer} of {of} steps were longer: ticks were skipped"),
                false => String::new(),
            };
            Some(format!(
                "{} {} written by the tick and {} on by {} at a time, which is about {} ticks a second{skipped}.",
                names,
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
        // A median needs more steps.
        (true, true) => None,
    }
}

/// The cost of reading a clock, and its resolution.
pub(crate) fn answer(run: &Run) -> Option<Verdict> {
    let rows = select::of_run::<Clocks>(run);
    let cost = |row: &Row<'_, Clocks>| row.of.read_cost_ns.and_then(|cost| cost.p50);
    let step = |row: &Row<'_, Clocks>| row.of.step_ns.and_then(|step| step.p50);
    let read = rows.iter().find_map(|row| {
        let cost = units::duration(cost(row)?);
        Some(format!("Reading {} takes {cost}.", row.m.subject))
    });
    let coarse = rows.iter().filter(|row| row.of.tick_written == Some(true));
    let coarse = coarse.filter_map(|row| Some((step(row)?, row.m.subject.as_str())));
    let coarsest = coarse.max().map(|(step, clock)| {
        format!(
            "The coarsest clock, {clock}, is updated by the timer tick, {} at a time.",
            units::fine(step)
        )
    });
    let sentences: Vec<String> = [read, coarsest].into_iter().flatten().collect();
    let table = Table::new("", &rows)
        .told([named("clock", SUBJECT)])
        .column("stated", |row| row.of.stated_ns.map(units::nominal))
        .blank(Why::NOT_STATED)
        .in_words("stated: the resolution that the OS states.")
        .column("step p50", |row| step(row).map(units::fine))
        .in_words("step: the difference between two successive values.")
        .column("read cost", |row| cost(row).map(units::duration))
        .column("updated by", |row| {
            Some(if row.of.tick_written? {
                "the tick"
            } else {
                "counter"
            })
        });
    let next =
        format!("Next: punctual measure timers shows how ticks lengthen short sleeps; {TABLES}");
    (!sentences.is_empty()).then(|| Verdict::new(sentences, next).told(table, ""))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod figure {
    use super::*;
    use crate::figures::rows::{Mark, RowChart};
    use crate::figures::style::Look;
    use crate::figures::{Figure, figure};

    /// The two marks of a clock, and how far below the middle of its row they are.
    const MARKS: [(&str, i32); 2] = [("step", -8), ("a reading", 8)];

    /// For each clock a mark at its step and one at what a reading takes.
    pub(crate) fn figures(run: &Run) -> Option<Figure> {
        let mut clocks = select::of_run::<Clocks>(run);
        clocks.retain(|m| typical_step(m.of).iter().any(Option::is_some));
        if clocks.is_empty() {
            return None;
        }
        let row = |m: &Row<'_, Clocks>| {
            let tick = if m.of.tick_written == Some(true) {
                " (tick)"
            } else {
                ""
            };
            let marks = typical_step(m.of).into_iter().zip(MARKS).enumerate();
            let marks =
                marks.filter_map(|(k, (ns, (_, below)))| Some(Mark::at(Look::nth(k), ns?, below)));
            (format!("{}{tick}", m.subject), marks.collect())
        };
        let chart = RowChart {
            title: "Clocks: steps, and what a reading takes",
            caption: caption_of_clocks(&clocks),
            x: "median",
            high: 44,
            rows: clocks.iter().map(row).collect(),
            legend: &[0, 1].map(|k| (MARKS[k].0, Look::nth(k))),
            beside: 123,
        };
        Some(figure("clocks", chart.draw(run)))
    }

    /// The median step and the median time of a reading. Where there are too few
    /// steps for a median, the smallest.
    fn typical_step(of: &Clocks) -> [Option<f64>; 2] {
        [of.step_ns, of.read_cost_ns].map(|lengths| {
            let lengths = lengths?;
            let middle = lengths.p50.unwrap_or(lengths.min) as f64;
            Some(middle).filter(|ns| *ns > 0.0)
        })
    }

    fn caption_of_clocks(clocks: &[Row<'_, Clocks>]) -> String {
        let n = |of: fn(&Clocks) -> Option<Lengths>| {
            select::counts(clocks.iter().filter_map(|m| Some(of(m.of)?.n)))
        };
        let few = clocks
            .iter()
            .filter(|m| {
                typical_step(m.of)[0].is_some()
                    && m.of.step_ns.is_none_or(|step| step.p50.is_none())
            })
            .count();
        let few = if few > 0 {
            format!(" For {few}, the smallest step is drawn, as fewer than 20 allow no median.")
        } else {
            String::new()
        };
        format!(
            "step: by how much a clock moves on at once, n = {} steps. a reading: the time it takes, n = {} means \
         of many. (tick): moves on by 500 us or more, so the tick writes it.{few}",
            n(|of| of.step_ns),
            n(|of| of.read_cost_ns)
        )
    }
}

#[cfg(test)]
mod tests {
    use punctual_record::Experiment;
    use punctual_record::experiment::Lengths;

    use super::*;
    use crate::experiments::tests::{run, sentences};

    #[test]
    fn of_clocks_the_cost_and_the_coarsest_are_told() {
        let lengths = |ns| {
            Some(Lengths {
                n: 20,
                p50: Some(ns),
                ..Lengths::default()
            })
        };
        let counter = Clocks {
            read_cost_ns: lengths(25),
            ..Clocks::default()
        };
        let coarse = Clocks {
            step_ns: lengths(4_000_000),
            tick_written: Some(true),
            ..Clocks::default()
        };
        let both = run([
            (Experiment::Clocks(counter), "fine", 0),
            (Experiment::Clocks(coarse), "coarse", 0),
        ]);
        assert_eq!(
            sentences(&both),
            [
                "Reading fine takes 25 ns.",
                "The coarsest clock, coarse, is updated by the timer tick, 4.000 ms at a time.",
            ]
        );
        assert_eq!(
            answer(&run([(Experiment::Clocks(Clocks::default()), "unread", 0)])),
            None
        );
    }
}
