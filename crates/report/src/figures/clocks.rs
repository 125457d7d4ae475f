//! Clocks: how far each moves on at once, and what a reading takes.

use punctual_record::Run;
use punctual_record::experiment::{Clocks, Lengths};

use super::figure::{Figure, figure};
use super::rows::{Mark, RowChart};
use super::style::Look;
use crate::select::{self, Row};

/// What the two marks of a clock are, and how far below the middle of its row.
const MARKS: [(&str, i32); 2] = [("step", -8), ("a reading", 8)];

/// For each clock a mark at its step and one at what a reading takes.
pub(super) fn clocks(run: &Run) -> Option<Figure> {
    let mut clocks = select::of_run::<Clocks>(run);
    clocks.retain(|m| typical(m.of).iter().any(Option::is_some));
    if clocks.is_empty() {
        return None;
    }
    let row = |m: &Row<'_, Clocks>| {
        let tick = if m.of.tick_written == Some(true) {
            " (tick)"
        } else {
            ""
        };
        let marks = typical(m.of).into_iter().zip(MARKS).enumerate();
        let marks =
            marks.filter_map(|(k, (ns, (_, below)))| Some(Mark::At(Look::nth(k), ns?, below)));
        (format!("{}{tick}", m.subject), marks.collect())
    };
    let chart = RowChart {
        title: "Clocks: steps, and what a reading takes",
        caption: caption(&clocks),
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
fn typical(of: &Clocks) -> [Option<f64>; 2] {
    [of.step_ns, of.read_cost_ns].map(|lengths| {
        let lengths = lengths?;
        let middle = lengths.p50.unwrap_or(lengths.min) as f64;
        Some(middle).filter(|ns| *ns > 0.0)
    })
}

fn caption(clocks: &[Row<'_, Clocks>]) -> String {
    let n = |of: fn(&Clocks) -> Option<Lengths>| {
        select::counts(clocks.iter().filter_map(|m| Some(of(m.of)?.n)))
    };
    let few = clocks
        .iter()
        .filter(|m| {
            typical(m.of)[0].is_some() && m.of.step_ns.is_none_or(|step| step.p50.is_none())
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
