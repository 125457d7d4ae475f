//! The lengths of short sleeps, with the ticks behind them.

use punctual_record::experiment::Timers;
use std::collections::BTreeMap;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use punctual_record::{Mode, Run};

use super::axis::Axis;
use super::chart::{Chart, Place};
use super::figure::{Figure, figure};
use super::panels::{Layout, Panel, Panels};
use super::sheet::{Canvas, Drawn, GREY, text_width, write};
use super::style::Look;
use super::svg;
use crate::histogram::{name, named, usual};
use crate::select::{self, Row, asked_ns};
use crate::units;

/// The names of modes above a panel: so many lines, so high.
const LEVELS: usize = 2;
const LEVEL: i32 = 18;

const LAYOUT: Layout = Layout {
    high: 170 + LEVEL * LEVELS as i32,
    air: (LEVEL * LEVELS as i32, 12),
    above: 0,
    left: 16,
    right: 30,
    lines: (20, 20),
};

const ASKED: &str = "asked";

/// How many bars there is room for.
const BARS: f64 = 180.0;

/// For each call a panel for each way to begin a sleep, on one scale.
pub(super) fn timers(run: &Run) -> Vec<Figure> {
    select::grouped(select::of_run::<Timers>(run), |m| {
        (m.m.subject.as_str(), asked_ns(m.of))
    })
    .iter()
    .filter_map(|((call, asked), group)| of_call(run, call, *asked, group))
    .collect()
}

struct Sleeps<'r> {
    arming: &'r str,
    asked_ns: f64,
    /// How long the timer rule in force makes a sleep, if waking up cost nothing.
    predicted_ns: Option<f64>,
    slept_ns: Vec<i64>,
    modes: Vec<Mode>,
}

/// The sleeps of each way to begin them.
fn panels<'r>(group: &[Row<'r, Timers>]) -> Vec<Sleeps<'r>> {
    select::grouped(group.iter().copied(), |m| m.of.arming.as_str())
        .into_iter()
        .map(|(arming, rounds)| {
            let (slept_ns, modes) = select::lengths(&rounds);
            let late_ns = rounds.iter().find_map(|m| m.predicted_late_ns);
            let asked_ns = rounds.first().map_or(0.0, |m| asked_ns(m.of));
            Sleeps {
                arming,
                asked_ns,
                predicted_ns: late_ns.map(|late_ns| asked_ns + late_ns as f64),
                slept_ns,
                modes,
            }
        })
        .filter(|panel| !panel.slept_ns.is_empty())
        .collect()
}

fn of_call(run: &Run, call: &str, asked_ns: f64, group: &[Row<'_, Timers>]) -> Option<Figure> {
    let panels = panels(group);
    let mut all: Vec<i64> = panels
        .iter()
        .flat_map(|panel| panel.slept_ns.clone())
        .collect();
    all.sort_unstable();
    let (low, high) = usual(&all)?;
    // What was asked for and what is predicted are on the axis too.
    let lines = panels.iter().flat_map(|panel| panel.lines()).flatten();
    let lines: Vec<i64> = lines.map(|(_, ns)| ns as i64).collect();
    let low = lines.iter().copied().fold(low, i64::min);
    let high = lines.iter().copied().fold(high, i64::max);
    let beyond = all.iter().filter(|ns| **ns < low || **ns > high).count();
    let (from, to) = scale(low, high);
    let charts = panels.iter().map(|panel| {
        let shares = panel.shares((from, to));
        let highest = shares.values().copied().fold(0.0, f64::max);
        Panel {
            name: panel.arming,
            lines: vec![format!("n = {}", panel.slept_ns.len())],
            y: Axis::linear("sleeps (%)", 0.0, highest * 1.05, 3),
            draw: Box::new(move |canvas, chart, place| {
                panel.draw(canvas, chart, place, &shares, (from, to))
            }),
        }
    });
    let charts = Panels {
        title: format!("Lengths of {call} asked for {}", units::nominal(asked_ns)),
        caption: caption(&panels, beyond),
        layout: LAYOUT,
        x: Axis::linear("slept (ms)", from, to, 8),
        y: "",
        above: vec![],
        panels: charts.collect(),
    };
    Some(figure(&format!("timers-{call}"), charts.draw(run)))
}

/// The ends of the axis in milliseconds: a little more than the sleeps need.
fn scale(low_ns: i64, high_ns: i64) -> (f64, f64) {
    let [low, high] = [low_ns, high_ns].map(|ns| ns as f64 / 1e6);
    let edge = ((high - low) * 0.03).max(high.abs() * 1e-3).max(1e-6);
    (low - edge, high + edge)
}

impl Sleeps<'_> {
    fn draw(
        &self,
        canvas: &Canvas,
        chart: &Chart,
        place: Place,
        shares: &BTreeMap<usize, f64>,
        (from, to): (f64, f64),
    ) -> Drawn {
        let style = Look::nth(0).colour.filled();
        let width = (to - from) / BARS;
        for (&bar, &share) in shares {
            let (left, top) = chart.pixel(from + bar as f64 * width, share);
            let (right, bottom) = chart.pixel(from + (bar + 1) as f64 * width, 0.0);
            let corners = [(left, top.min(bottom - 1)), (right.max(left + 1), bottom)];
            canvas.draw(&Rectangle::new(corners, style))?;
        }
        let (_, bottom) = chart.pixel(from, 0.0);
        for (name, ns) in self.lines().into_iter().flatten() {
            let (x, top) = chart.pixel(ns / 1e6, f64::INFINITY);
            let dashes = if name == ASKED { [6, 3] } else { [1, 3] };
            svg::valued(canvas, &format!("{name}\n{}", units::fine(ns)), || {
                let style = BLACK.mix(0.7).stroke_width(2);
                svg::dashed(canvas, dashes, [(x, top), (x, bottom)], style)
            })?;
        }
        self.names(canvas, chart, place, bottom)
    }

    /// The lines upright in it.
    fn lines(&self) -> [Option<(&'static str, f64)>; 2] {
        let predicted = self.predicted_ns.map(|ns| ("predicted", ns));
        [Some((ASKED, self.asked_ns)), predicted]
    }

    /// The share of the sleeps in each bar, in per cent.
    fn shares(&self, (from, to): (f64, f64)) -> BTreeMap<usize, f64> {
        let mut shares = BTreeMap::new();
        let each = 100.0 / self.slept_ns.len().max(1) as f64;
        for &ns in &self.slept_ns {
            let share = ((ns as f64 / 1e6 - from) / (to - from)).clamp(0.0, 1.0);
            let bar = (share * BARS).floor().min(BARS - 1.0) as usize;
            *shares.entry(bar).or_insert(0.0) += each;
        }
        shares
    }

    /// The names of the modes above the panel, each with a line to its bar.
    fn names(&self, canvas: &Canvas, chart: &Chart, place: Place, bottom: i32) -> Drawn {
        let mut modes = named(&self.modes, self.slept_ns.len());
        modes.truncate(2 * LEVELS);
        modes.sort_by_key(|mode| mode.center_ns);
        let mut free = [0; LEVELS];
        for mode in modes {
            let text = format!("{}, {:.0} %", name(mode), mode.share * 100.0);
            let (x, _) = chart.pixel(mode.center_ns as f64 / 1e6, 0.0);
            let half = text_width(&text) / 2;
            let middle = x.clamp(
                place.left + 70 + half,
                (place.right - half).max(place.left + 70 + half),
            );
            let level = free.iter().position(|from| middle - half >= *from);
            let Some(level) = level else { continue };
            free[level] = middle + half + 8;
            let y = place.top - LEVEL / 2 - LEVEL * level as i32 + 2;
            let ends = [(x, y + LEVEL / 2), (x, bottom)];
            svg::dashed(canvas, [2, 4], ends, GREY.mix(0.6).stroke_width(1))?;
            write(canvas, &text, (middle, y), HPos::Center, &BLACK)?;
        }
        Ok(())
    }
}

fn caption(panels: &[Sleeps], beyond: usize) -> String {
    let n = select::counts(panels.iter().map(|panel| panel.slept_ns.len() as u64));
    let mut caption = format!(
        "How long sleeps were by the precise clock, all rounds, n = {n} in each panel. after-wake: each begins \
         as soon as the one before it has ended. random-phase: each begins after work of a random length."
    );
    caption += " The dashed line is what was asked for";
    caption += match panels.iter().any(|panel| panel.predicted_ns.is_some()) {
        true => ", the dotted one what the timer rule in force predicts if waking up cost nothing.",
        false => ".",
    };
    if beyond > 0 {
        caption += &format!(" {beyond} beyond the axis are drawn at its ends.");
    }
    caption
}
