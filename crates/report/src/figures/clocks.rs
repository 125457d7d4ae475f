//! Clocks: how far each moves on at once, and what a reading takes.

use punctual_record::Run;
use punctual_record::experiment::{Clocks, Lengths};

use super::axis::Axis;
use super::chart::legend_of_marks;
use super::figure::{Figure, figure};
use super::rows::Rows;
use super::sheet::{Sheet, text_width};
use super::style::Look;
use crate::select::{self, Row};

const ROW: i32 = 44;
/// How far above and below the middle of its row a mark is.
const BESIDE: i32 = 8;

/// What the two marks of a clock are.
const MARKS: [&str; 2] = ["step", "a reading"];

/// For each clock a mark at its step and one at what a reading takes.
pub(super) fn clocks(run: &Run) -> Option<Figure> {
    let mut clocks = select::of_run::<Clocks>(run);
    clocks.retain(|m| typical(m.of).iter().any(Option::is_some));
    if clocks.is_empty() {
        return None;
    }
    let names: Vec<String> = clocks
        .iter()
        .map(|m| match m.of.tick_written {
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
    let all = clocks.iter().flat_map(|m| typical(m.of)).flatten();
    let x = Axis::log_ns("median", all);
    let room = 60 + MARKS.map(text_width).into_iter().max().unwrap_or(0);
    let svg = sheet.draw(run, |canvas| {
        let (chart, place) = rows.chart(canvas, &x, room)?;
        for (i, m) in clocks.iter().enumerate() {
            for (k, ns) in typical(m.of).into_iter().enumerate() {
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
