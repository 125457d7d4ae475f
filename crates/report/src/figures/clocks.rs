//! Clocks: how far each moves on at once, and what a reading takes.

use punctual_record::{Measurement, Run};

use super::axis::Axis;
use super::chart::legend_of_marks;
use super::figure::{Figure, figure};
use super::rows::Rows;
use super::sheet::{Sheet, text_width};
use super::style::Look;
use crate::select::{self, Kind};

const ROW: i32 = 44;
/// How far above and below the middle of its row a mark is.
const BESIDE: i32 = 8;

/// What the two marks of a clock are.
const MARKS: [&str; 2] = ["step", "a reading"];

/// For each clock a mark at its step and one at what a reading takes.
pub(super) fn clocks(run: &Run) -> Option<Figure> {
    let clocks = select::of_kind(run, Kind::Clocks);
    let clocks: Vec<&Measurement> = clocks
        .into_iter()
        .filter(|m| typical(m).iter().any(Option::is_some))
        .collect();
    if clocks.is_empty() {
        return None;
    }
    let names: Vec<String> = clocks
        .iter()
        .map(|m| match select::is_written_by_the_tick(m) {
            Some(true) => format!("{} (tick)", m.subject),
            _ => m.subject.clone(),
        })
        .collect();
    let rows = Rows::new(&names, ROW);
    let sheet = Sheet {
        title: "Clocks: steps, and what a reading takes".to_owned(),
        caption: caption(&clocks),
        height: rows.height(),
    };
    let all = clocks.iter().flat_map(|m| typical(m)).flatten();
    let x = Axis::log_ns("median", all);
    let room = 60 + MARKS.map(text_width).into_iter().max().unwrap_or(0);
    let svg = sheet.draw(run, |canvas| {
        let (chart, place) = rows.chart(canvas, &x, room)?;
        for (i, m) in clocks.iter().enumerate() {
            for (k, ns) in typical(m).into_iter().enumerate() {
                let Some(ns) = ns else { continue };
                let (x, y) = rows.at(&chart, ns, i);
                Look::nth(k).marker(canvas, (x, y - BESIDE + 2 * BESIDE * k as i32))?;
            }
        }
        let entries = MARKS
            .iter()
            .enumerate()
            .map(|(k, name)| (*name, Look::nth(k)));
        legend_of_marks(canvas, place, entries)
    });
    Some(figure("clocks", svg))
}

/// The median step and the median time of a reading. Where there are too few
/// steps for a median, the smallest.
fn typical(m: &Measurement) -> [Option<f64>; 2] {
    let any = |key| select::part(m, key, "n").is_some_and(|n| n > 0.0);
    let middle = |key| select::part(m, key, "p50").or_else(|| select::part(m, key, "min"));
    ["step_ns", "read_cost_ns"].map(|key| middle(key).filter(|ns| any(key) && *ns > 0.0))
}

fn caption(clocks: &[&Measurement]) -> String {
    let n = |key| {
        let n = clocks.iter().filter_map(|m| select::part(m, key, "n"));
        select::counts(n.filter(|n| *n > 0.0).map(|n| n as u64))
    };
    let few = clocks
        .iter()
        .filter(|m| typical(m)[0].is_some() && select::part(m, "step_ns", "p50").is_none())
        .count();
    let few = if few > 0 {
        format!(" For {few}, the smallest step is drawn, as fewer than 20 allow no median.")
    } else {
        String::new()
    };
    format!(
        "step: by how much a clock moves on at once, n = {} steps. a reading: the time it takes, n = {} means \
         of many. (tick): moves on by 500 us or more, so the tick writes it.{few}",
        n("step_ns"),
        n("read_cost_ns")
    )
}
