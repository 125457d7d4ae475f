//! Waits of other programs: how late they were, and the parts of that.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::{LateShare, Run, Traced};

use super::length;
use super::tables::PARTS;
use crate::figures::axis::Axis;
use crate::figures::chart::{Canvas, Drawn, LegendAbove, Pixel, Sheet, TOP, text_width, write};
use crate::figures::rows::{Mark, RowChart, Rows};
use crate::figures::style::Look;
use crate::figures::{Figure, figure, svg};
use crate::select::{self, Row};
use crate::units;

/// No figure has more threads, calls and lengths.
const MOST: usize = 12;

/// Half the height of a bar, and the height of its row.
const HALF: i32 = 10;
const HIGH: i32 = 28;

/// The figures of a trace.
pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let mut rows = select::of_run::<Traced>(run);
    rows.retain(|row| row.late_ns.n > 0);
    let more = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    if rows.is_empty() {
        return Vec::new();
    }
    let of_all = match more {
        0 => String::new(),
        more => {
            format!(" {more} more threads, calls and lengths were late for a shorter time in all.")
        }
    };
    let n: u64 = rows.iter().map(|row| row.late_ns.n).sum();
    let caption = |how: &str| format!("n = {n} waits. {how}{of_all}");
    vec![lateness(run, &rows, &caption), parts(run, &rows, &caption)]
}

fn name(row: &Row<'_, Traced>) -> String {
    let length = length(row.of).map_or_else(String::new, |length| format!(", {length}"));
    format!("{}{length}", row.m.subject)
}

/// The median and percentiles of each.
fn lateness(run: &Run, rows: &[Row<'_, Traced>], caption: &dyn Fn(&str) -> String) -> Figure {
    let mark =
        |(i, row): (usize, &Row<'_, Traced>)| (name(row), vec![Mark::of(row.m, Look::nth(i))]);
    let chart = RowChart {
        title: "Lateness of waits by thread and length",
        caption: caption(
            "The marker is the median, or the mean of few waits, the box ends at the 90th percentile, the line at the 99th, \
             where so many waits tell them.",
        ),
        x: "lateness",
        high: 34,
        rows: rows.iter().enumerate().map(mark).collect(),
        legend: &[],
        beside: 0,
    };
    figure("trace-lateness", chart.draw(run))
}

/// A bar for the waits about the median, and one for the most late if they are few.
fn bars<'r>(row: &Row<'r, Traced>) -> Vec<(String, &'r LateShare)> {
    let bar = |which: &str, share: &LateShare| {
        let late = units::duration(share.parts_ns.sum() / share.n.max(1));
        format!("{which}{late}")
    };
    let Traced {
        middle,
        latest,
        all,
        ..
    } = row.of;
    let mut bars = vec![(bar(&format!("{}: ", name(row)), middle), middle)];
    if latest.n * 5 <= all.n {
        bars.push((bar("worst: ", latest), latest));
    }
    bars.retain(|(_, share)| share.parts_ns.sum() > 0);
    bars
}

/// The share of each part.
fn parts(run: &Run, rows: &[Row<'_, Traced>], caption: &dyn Fn(&str) -> String) -> Figure {
    let bars: Vec<_> = rows.iter().flat_map(bars).collect();
    let occurs = |at: &usize| bars.iter().any(|(_, share)| share.parts_ns.each()[*at] > 0);
    let shown: Vec<usize> = (0..PARTS.len()).filter(occurs).collect();
    let heads = || shown.iter().map(|at| PARTS[*at].head);
    let names: Vec<String> = bars.iter().map(|(name, _)| name.clone()).collect();
    let chart = Rows::new(&names, HIGH);
    let legend = LegendAbove::new(TOP, heads());
    let sheet = Sheet::new(
        "Parts of the lateness",
        caption(
            "Of each thread and length the waits near the median, with their mean lateness, and the worst 1 %. Read: so many \
             per cent of the lateness were that part.",
        ),
        legend.height() + chart.height(),
    );
    let x = Axis::linear("% of the lateness", 0.0, 100.0, 5);
    let svg = sheet.draw(run, |canvas| {
        legend.draw(canvas, heads(), |i, (x, y)| {
            let corners = [(x, y - 6), (x + 36, y + 6)];
            canvas.draw(&Rectangle::new(corners, colour(shown[i]).filled()))
        })?;
        let (axes, _) = chart.chart_below(canvas, &x, legend.height())?;
        for (row, (name, share)) in bars.iter().enumerate() {
            let total = share.parts_ns.sum() as f64;
            let mut from = 0.0;
            for at in &shown {
                let ns = share.parts_ns.each()[*at];
                let to = from + ns as f64 / total * 100.0;
                let [left, right] = [from, to].map(|percent| chart.at(&axes, percent, row));
                from = to;
                if right.0 == left.0 {
                    continue;
                }
                let mean = units::duration(ns / share.n.max(1));
                let words = format!("{name}\n{}: {mean}", PARTS[*at].in_words);
                svg::valued(canvas, &words, || segment(canvas, *at, left, right))?;
            }
        }
        Ok(())
    });
    figure("trace-parts", svg)
}

/// A part of a bar, with its name where there is room.
fn segment(canvas: &Canvas, part: usize, left: Pixel, right: Pixel) -> Drawn {
    let corners = [(left.0, left.1 - HALF), (right.0, right.1 + HALF)];
    canvas.draw(&Rectangle::new(corners, colour(part).filled()))?;
    canvas.draw(&Rectangle::new(corners, WHITE.stroke_width(1)))?;
    let head = PARTS[part].head;
    match text_width(head) + 8 < right.0 - left.0 {
        true => write(
            canvas,
            head,
            (left.0.midpoint(right.0), left.1),
            HPos::Center,
            &BLACK,
        ),
        false => Ok(()),
    }
}

/// The colour of a part: pale, as words are written on it. More parts than colours are paler.
fn colour(part: usize) -> RGBAColor {
    let look = Look::nth(part);
    look.colour.mix(if part < 7 { 0.6 } else { 0.3 })
}
