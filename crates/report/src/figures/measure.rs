//! Clocks, timers, yields, load, CPUs and gaps.

use std::collections::BTreeMap;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::experiment::{Clocks, Cores, Gap, Lengths, Load, Timers, Yield};
use punctual_record::{Measurement, Run, nearest_rank};

use super::axis::{Axis, LEAST_NS};
use super::chart::{Canvas, Chart, Drawn, GREY, Place, text_width, write};
use super::panels::{Layout, Panel, Panels};
use super::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
use super::rows::{Mark, RowChart};
use super::style::Look;
use super::{Figure, figure, svg};
use crate::histogram::{name as name_of_mode, named, usual};
use crate::select::{self, Row, Sleeps, asked_ns};
use crate::units;

/// The two marks of a clock, and how far below the middle of its row they are.
const MARKS: [(&str, i32); 2] = [("step", -8), ("a reading", 8)];

/// For each clock a mark at its step and one at what a reading takes.
pub(super) fn clocks(run: &Run) -> Option<Figure> {
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
            typical_step(m.of)[0].is_some() && m.of.step_ns.is_none_or(|step| step.p50.is_none())
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
    .filter_map(|((call, asked), group)| sleeps_of(run, call, *asked, group))
    .collect()
}

/// The sleeps of each way to begin them.
fn panels<'r>(group: &[Row<'r, Timers>]) -> Vec<Sleeps<'r>> {
    let armings = select::grouped(group.iter().copied(), |m| m.of.arming.as_str());
    let panels = armings.iter().filter_map(|(_, rounds)| Sleeps::of(rounds));
    panels.collect()
}

fn sleeps_of(run: &Run, call: &str, asked_ns: f64, group: &[Row<'_, Timers>]) -> Option<Figure> {
    let panels = panels(group);
    let mut all: Vec<i64> = panels
        .iter()
        .flat_map(|panel| panel.slept_ns.clone())
        .collect();
    all.sort_unstable();
    let (low, high) = usual(&all)?;
    // The asked and the predicted lengths are on the axis too.
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
        caption: caption_of_sleeps(&panels, beyond),
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
            let text = format!("{}, {:.0} %", name_of_mode(mode), mode.share * 100.0);
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

fn caption_of_sleeps(panels: &[Sleeps], beyond: usize) -> String {
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

/// A curve is drawn through so many points at the most.
const MOST_POINTS: usize = 400;

/// The share of yields that were over after a given time.
pub(super) fn yields(run: &Run) -> Option<Figure> {
    let measurements = select::of_run::<Yield>(run);
    let curves: Vec<Curve> = measurements
        .iter()
        .filter(|m| !m.samples_late_ns.is_empty())
        .map(|m| Curve::of(*m))
        .collect();
    if curves.is_empty() {
        return None;
    }
    let n = select::counts(curves.iter().map(|curve| curve.took_ns.len() as u64));
    let low = curves.iter().flat_map(|curve| &curve.took_ns);
    let low = low.filter(|ns| **ns < LEAST_NS).count();
    let mut caption = format!(
        "The share of n = {n} yields that was over after the time on the axis. The markers are at 50 %, 90 % \
         and 99 %."
    );
    if low > 0 {
        caption += &format!(" {low} yields below 1 ns are drawn at 1 ns.");
    }
    let series = curves.iter().enumerate().map(|(i, curve)| {
        let mark = |percent: u8| (curve.at(percent), f64::from(percent));
        Series {
            marks: [50, 90, 99].map(mark).into(),
            ..Series::new(curve.name.as_str(), Look::nth(i), curve.steps())
        }
    });
    let all = curves
        .iter()
        .flat_map(|curve| curve.took_ns.iter().copied());
    let plot = Plot {
        title: "How long a yield takes".to_owned(),
        caption,
        x: Axis::log_ns("time until the thread ran again", all),
        y: Axis::linear("yields that were over (%)", 0.0, 100.0, 5),
        series: series.collect(),
    };
    Some(figure("yield", plot.draw(run)))
}

struct Curve {
    name: String,
    /// From the shortest.
    took_ns: Vec<f64>,
}

impl Curve {
    fn of(m: Row<'_, Yield>) -> Self {
        let mut took_ns: Vec<f64> = m.samples_late_ns.iter().map(|&ns| ns as f64).collect();
        took_ns.sort_by(f64::total_cmp);
        let background = select::background(m.of);
        let name = if m.subject == "yield" {
            background
        } else {
            format!("{}, {background}", m.subject)
        };
        Self { name, took_ns }
    }

    /// After which time so many per cent were over.
    fn at(&self, percent: u8) -> f64 {
        nearest_rank(&self.took_ns, usize::from(percent) * 10).unwrap_or_default()
    }

    /// The curve as a staircase, up to a height at every time.
    fn steps(&self) -> Vec<Point> {
        let n = self.took_ns.len();
        let every = n.div_ceil(MOST_POINTS);
        let mut steps = vec![(self.took_ns[0], 0.0)];
        for i in (0..n).filter(|i| i % every == every - 1 || *i + 1 == n) {
            let (_, before) = steps[steps.len() - 1];
            let percent = (i + 1) as f64 / n as f64 * 100.0;
            steps.push((self.took_ns[i], before));
            steps.push((self.took_ns[i], percent));
        }
        steps
    }
}

/// For each call: the median and the 99th percentile, by load and priority.
pub(super) fn load(run: &Run) -> Vec<Figure> {
    select::grouped(select::of_run::<Load>(run), |m| {
        (m.m.subject.as_str(), asked_ns(m.of))
    })
    .iter()
    .filter_map(|((call, asked), group)| load_of(run, call, *asked, group))
    .collect()
}

fn load_of(run: &Run, call: &str, asked: f64, group: &[Row<'_, Load>]) -> Option<Figure> {
    let priorities = select::grouped(group.iter().copied(), |m| m.of.priority.as_str());
    let lines = priorities.iter().flat_map(|(priority, group)| {
        let typical = by_load(group, select::typical_ns);
        let high = by_load(group, |m| m.late_ns.p99.map(|ns| ns as f64));
        [
            (format!("{priority}, p50"), typical),
            (format!("{priority}, p99"), high),
        ]
    });
    let lines = lines.filter(|(_, points)| !points.is_empty()).enumerate();
    let series: Vec<Series> = lines
        .map(|(i, (name, points))| Series::new(name, Look::nth(i), points))
        .collect();
    let all = || series.iter().flat_map(|series| &series.line);
    let late = || all().map(|(_, late)| *late);
    let most = all()
        .map(|(load, _)| *load)
        .fold(f64::NEG_INFINITY, f64::max);
    if series.is_empty() {
        return None;
    }
    let plot = Plot {
        title: format!(
            "Lateness of {call} asked for {} by load",
            units::nominal(asked)
        ),
        caption: caption_of_load(group) + &low_in_words(late()),
        x: Axis::linear("threads that compute, per CPU", 0.0, most, 4),
        y: Axis::log_ns("lateness", late()),
        series,
    };
    Some(figure(&format!("load-{call}"), plot.draw(run)))
}

fn by_load(group: &[Row<'_, Load>], of: fn(&Measurement) -> Option<f64>) -> Vec<Point> {
    let points = group.iter();
    ascending(points.filter_map(|m| Some((m.of.load_per_cpu, of(m.m)?))))
}

fn caption_of_load(group: &[Row<'_, Load>]) -> String {
    let n = select::waits(group);
    let mut caption = format!("n = {n} waits for each load and priority.");
    caption += &means_in_words(group, "points");
    if group.iter().any(|m| m.late_ns.p99.is_none()) {
        caption += " A p99 with fewer than ten samples above it is left out.";
    }
    caption
}

/// A row for each CPU: the median, a box up to the 90th percentile, and a line
/// up to the 99th.
pub(super) fn cores(run: &Run) -> Option<Figure> {
    let mut cpus = select::of_run::<Cores>(run);
    cpus.retain(|m| m.late_ns.n > 0);
    if cpus.is_empty() {
        return None;
    }
    let kinds = select::grouped(cpus.iter().copied(), |m| core_type(m.of));
    let asked = select::values(&cpus, asked_ns);
    let row = |m: &Row<'_, Cores>| {
        let kind = kinds.iter().position(|(kind, _)| *kind == core_type(m.of));
        let mark = Mark::of(m, Look::nth(kind.unwrap_or(0)));
        (name_of_cpu(*m, asked.len() > 1), vec![mark])
    };
    let chart = RowChart {
        title: "Lateness of a wait on each CPU",
        caption: caption_of_cores(&cpus, &asked),
        x: "lateness",
        high: 30,
        rows: cpus.iter().map(row).collect(),
        legend: &[],
        beside: 0,
    };
    Some(figure("cores", chart.draw(run)))
}

fn core_type(of: &Cores) -> &str {
    of.core_type.as_deref().unwrap_or("")
}

fn name_of_cpu(m: Row<'_, Cores>, lengths: bool) -> String {
    let mut name = m.subject.clone();
    if !core_type(m.of).is_empty() {
        name += &format!(" ({})", core_type(m.of));
    }
    match lengths {
        true => format!("{name}, {}", units::nominal(asked_ns(m.of))),
        false => name,
    }
}

fn caption_of_cores(cpus: &[Row<'_, Cores>], asked: &[f64]) -> String {
    let of = match asked {
        [ns] => format!(" of {}", units::nominal(*ns)),
        _ => String::new(),
    };
    let n = select::waits(cpus);
    let mut caption = format!(
        "Waits{of} of a thread that is pinned to the CPU, n = {n} on each. The marker is the median, the box \
         ends at the 90th percentile, the line at the 99th."
    );
    caption += &means_in_words(cpus, "markers");
    if cpus.iter().any(|m| m.late_ns.p99.is_none()) {
        caption += " Percentiles with fewer than ten samples above them are left out.";
    }
    caption
}

/// Median latency by the time asleep, with a line up to the 90th percentile.
pub(super) fn gap(run: &Run) -> Option<Figure> {
    let mut measurements = select::of_run::<Gap>(run);
    let series = Series::of_subjects(run, &measurements, by_gap).into_iter();
    // No time at all has no place on the axis.
    let is_drawn = |m: &Row<'_, Gap>| m.of.asked_ns > 0 && select::typical_ns(m).is_some();
    measurements.retain(is_drawn);
    let all = by_gap(&measurements);
    if all.is_empty() {
        return None;
    }
    let whiskers = |subject: &str| {
        let of_subject = measurements.iter().filter(|m| m.subject == subject);
        let ends = of_subject.filter_map(|m| Some([latency(m)?, (asked_ns(m.of), p90(m)?)]));
        let mut ends: Vec<[Point; 2]> = ends.collect();
        ends.sort_by(|[a, _], [b, _]| a.0.total_cmp(&b.0));
        ends
    };
    let series = series.map(|series| Series {
        whiskers: whiskers(&series.name),
        ..series
    });
    let late = measurements.iter().filter_map(p90);
    let plot = Plot {
        title: "Latency of waking up by the time asleep".to_owned(),
        caption: caption_of_gaps(&measurements),
        x: Axis::log_ns("time asleep", all.iter().map(|p| p.0)),
        y: Axis::log_ns("median latency", late.chain(all.iter().map(|p| p.1))),
        series: series.collect(),
    };
    Some(figure("gap", plot.draw(run)))
}

fn by_gap(measurements: &[Row<'_, Gap>]) -> Vec<Point> {
    ascending(measurements.iter().filter_map(latency))
}

fn latency(m: &Row<'_, Gap>) -> Option<Point> {
    let asleep = Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?;
    Some((asleep, select::typical_ns(m)?))
}

fn p90(m: &Row<'_, Gap>) -> Option<f64> {
    m.late_ns.p90.map(|ns| ns as f64)
}

fn caption_of_gaps(drawn: &[Row<'_, Gap>]) -> String {
    let n = select::waits(drawn);
    let mut caption = format!("How much longer than asked, n = {n} waits each.");
    if drawn.iter().any(|m| p90(m).is_some()) {
        caption += " The line above a point ends at the 90th percentile, where one is known.";
    }
    caption += &means_in_words(drawn, "points");
    caption += &low_in_words(drawn.iter().filter_map(latency).map(|(_, late)| late));
    caption
}
