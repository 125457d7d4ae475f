//! Single waits by the time asked for, CPU time by the interval, naps by their margin, and errors by
//! the period of a scheduler.

use libm::{exp, log};
use punctual_record::experiment::{IntervalLength, Naps, Robustness};
use punctual_record::{Measurement, OfLength, Run};

use super::axis::Axis;
use super::chart::approximate_in_words;
use super::heat::{HeatMap, Scale};
use super::plot::{Plot, Point, Series, ascending, low_in_words, means_in_words};
use super::style::Look;
use super::{Figure, figure};
use crate::select::{self, Row, asked_ns};
use crate::units;

/// A kind of figure over lengths.
pub(super) struct ByLength {
    /// The name of its file.
    name: &'static str,
    title: &'static str,
    /// The quantity of the y axis, such as `lateness`.
    late: &'static str,
    /// The counted things, such as `requests of each length and subject`.
    counted: &'static str,
}

/// Article figure 2: requests of every length.
pub(super) const DECADES: ByLength = ByLength {
    name: "decades",
    title: "Lateness by the time asked for",
    late: "lateness",
    counted: "requests of each length and subject",
};

/// The wait calls of the OS.
pub(super) const SLEEP: ByLength = ByLength {
    name: "sleep",
    title: "How much longer than asked each call waits",
    late: "overshoot",
    counted: "waits of each length and call",
};

impl ByLength {
    pub(super) fn draw<E: OfLength>(&self, run: &Run) -> Option<Figure> {
        let measurements = select::of_run::<E>(run);
        let all = by_length(&measurements);
        if all.is_empty() {
            return None;
        }
        let plot = Plot {
            title: self.title.to_owned(),
            caption: self.caption(&measurements, &all),
            x: Axis::log_ns("time asked for", all.iter().map(|&(asked, _)| asked)),
            y: Axis::log_ns(
                &format!("median {}", self.late),
                all.iter().map(|&(_, late)| late),
            ),
            series: alike(Series::of_subjects(run, &measurements, by_length)),
        };
        Some(figure(self.name, plot.draw(run)))
    }

    fn caption<E: OfLength>(&self, measurements: &[Row<'_, E>], points: &[Point]) -> String {
        let n = select::waits(measurements);
        let mut caption = format!("Median {} of n = {n} {}.", self.late, self.counted);
        caption += &means_in_words(measurements, "points");
        caption += &low_in_words(points.iter().map(|&(_, late)| late));
        if select::by_subject(measurements).len() > 1 {
            caption += &format!(
                " Alike are those that nowhere differ by more than {:.0} %.",
                (ALIKE - 1.0) * 100.0
            );
        }
        if measurements.iter().any(|m| m.of.asked_ns() == 0) {
            caption += " Waits of 0 ns are only in the table.";
        }
        caption
    }
}

/// Lines that nowhere differ by more than this are drawn as one.
const ALIKE: f64 = 1.25;

/// Series that look the same become one, with the names of all. A line that hides another is
/// misleading, and a legend of fifteen is too long.
fn alike(all: Vec<Series>) -> Vec<Series> {
    let mut told: Vec<(Series, usize)> = Vec::new();
    for series in all {
        let same = |other: &Series| {
            let mut pairs = series.line.iter().zip(&other.line);
            series.line.len() == other.line.len()
                && pairs.all(|(a, b)| a.0 == b.0 && (a.1 / b.1).max(b.1 / a.1) <= ALIKE)
        };
        match told.iter_mut().find(|(other, _)| same(other)) {
            Some((_, others)) => *others += 1,
            None => told.push((series, 0)),
        }
    }
    let named = told.into_iter().map(|(series, others)| match others {
        0 => series,
        n => Series {
            name: format!("{} and {n} alike", series.name),
            ..series
        },
    });
    named.collect()
}

/// Asked and late, by what was asked. No time at all has no place on the axis.
fn by_length<E: OfLength>(measurements: &[Row<'_, E>]) -> Vec<Point> {
    ascending(measurements.iter().filter_map(|m| {
        let asked = Some(asked_ns(m.of)).filter(|ns| *ns > 0.0)?;
        Some((asked, select::typical_ns(m)?))
    }))
}

/// The CPU axis shows no less: below a hundredth of a per cent the cost no longer matters.
const LEAST_PERCENT: f64 = 0.01;

/// CPU time billed by the interval between two waits.
pub(super) fn interval(run: &Run) -> Option<Figure> {
    let measurements = select::of_run::<IntervalLength>(run);
    let all = by_interval(&measurements);
    if all.is_empty() {
        return None;
    }
    let greatest = |value: fn(&Point) -> f64| all.iter().map(value).fold(0.0, f64::max);
    let plot = Plot {
        title: "CPU time by the interval between two waits".to_owned(),
        caption: caption_of_intervals(&measurements),
        x: Axis::linear("interval (ms)", 0.0, greatest(|p| p.0), 5),
        y: Axis::log(
            "CPU time billed (%)",
            LEAST_PERCENT,
            // Billed in steps, a thread can have a little more than there is.
            all.iter().map(|p| p.1.min(100.0)),
            units::plain,
        ),
        series: Series::of_subjects(run, &measurements, by_interval),
    };
    Some(figure("interval", plot.draw(run)))
}

/// Milliseconds and per cent, by the interval.
fn by_interval(measurements: &[Row<'_, IntervalLength>]) -> Vec<Point> {
    ascending(
        measurements
            .iter()
            .filter_map(|m| Some((m.of.period_ns as f64 / 1e6, m.cpu.fraction? * 100.0))),
    )
}

fn caption_of_intervals(measurements: &[Row<'_, IntervalLength>]) -> String {
    let n = select::waits(measurements);
    let mut caption = format!(
        "CPU time billed to the waiting thread, as a share of the time that passed; n = {n} waits \
         for each interval and subject."
    );
    caption += &approximate_in_words(&select::plain(measurements));
    let unknown = measurements
        .iter()
        .filter(|m| m.cpu.fraction.is_none())
        .count();
    if unknown > 0 {
        caption += &format!(" {unknown} points are missing, as no CPU time is known.");
    }
    caption
}

/// Naps of about this length are shown.
const LENGTH_NS: f64 = 1e6;

/// The cost of a nanosecond of lateness, in nanoseconds of CPU time: the weights of the strategies
/// that have names.
const WEIGHTS: [f64; 3] = [1.0, 10.0, 100.0];

/// No shorter margin is drawn.
const LEAST_NS: f64 = 1_000.0;

/// How many points a curve has.
const POINTS: usize = 400;

/// The expected cost of a wait with one nap and a spin, by the margin of the nap: a curve per
/// weight. Overshoots are as recorded with the first call.
pub(super) fn margin(run: &Run) -> Option<Figure> {
    let naps = select::of_run::<Naps>(run);
    let (call, naps) = select::by_subject(&naps).into_iter().next()?;
    let naps = of_about(LENGTH_NS, &naps)?;
    let overshoots = Overshoots::of(naps.m)?;
    let curves = WEIGHTS.map(|weight| Curve::of(&overshoots, weight));

    let asked = units::nominal(asked_ns(naps.of));
    let points = || curves.iter().flat_map(|curve| &curve.points);
    // Whole decades would leave much of the chart empty.
    let axis = |name: &str, values: Vec<f64>| Axis::log_fine(name, &values, units::nominal);
    let series = WEIGHTS.iter().zip(&curves).enumerate();
    let plot = Plot {
        title: format!("Expected cost by margin: naps of {asked} with {call}"),
        caption: caption_of_margins(&overshoots),
        x: axis("margin", points().map(|p| p.0).collect()),
        y: axis("expected cost of a wait", points().map(|p| p.1).collect()),
        series: series
            .map(|(i, (weight, curve))| curve.series(format!("w = {weight}"), Look::nth(i)))
            .collect(),
    };
    Some(figure("margin", plot.draw(run)))
}

/// The measurement whose length is nearest to this one, as a ratio.
fn of_about<'r>(length_ns: f64, naps: &[Row<'r, Naps>]) -> Option<Row<'r, Naps>> {
    let off = |m: Row<'_, Naps>| log(asked_ns(m.of).max(1.0) / length_ns).abs();
    let naps = naps.iter().filter(|m| !m.samples_late_ns.is_empty());
    let naps = naps.copied();
    naps.min_by(|a, b| off(*a).total_cmp(&off(*b)))
}

fn caption_of_margins(overshoots: &Overshoots) -> String {
    let cpu = match overshoots.cpu_ns {
        Some(cpu_ns) => format!("the nap's CPU time ({})", units::duration(cpu_ns)),
        None => "the nap's CPU time, which is not known,".to_owned(),
    };
    format!(
        "A nap that is asked to end so long before the deadline (the margin), then a spin: {cpu} + \
         the time spun + w x lateness, on average over n = {} overshoots of naps as recorded. The \
         marker is the least of each curve. The line is at the margin that the part w / (1 + w) of \
         the overshoots, {}, does not exceed, whatever they cost.",
        overshoots.sorted_ns.len(),
        WEIGHTS
            .map(|w| format!("{:.0} %", part_of(w) * 100.0))
            .join(", ")
    )
}

/// The part of the overshoots that should be no longer than the margin.
fn part_of(weight: f64) -> f64 {
    weight / (1.0 + weight)
}

/// How much longer than asked naps were, and what they cost.
struct Overshoots {
    /// From the shortest; there is one at least.
    sorted_ns: Vec<f64>,
    cpu_ns: Option<f64>,
}

impl Overshoots {
    fn of(naps: &Measurement) -> Option<Self> {
        let samples = naps.samples_late_ns.iter();
        let mut sorted_ns: Vec<f64> = samples.map(|&ns| ns as f64).collect();
        sorted_ns.sort_by(f64::total_cmp);
        let cpu_ns = naps.cpu.per_wait_ns.filter(|ns| ns.is_finite());
        (!sorted_ns.is_empty()).then_some(Self { sorted_ns, cpu_ns })
    }

    /// The mean cost of a wait with this margin.
    fn cost_ns(&self, margin_ns: f64, weight: f64) -> f64 {
        let of = |over_ns: &f64| match margin_ns - over_ns {
            left if left < 0.0 => -left * weight,
            left => left,
        };
        let sum: f64 = self.sorted_ns.iter().map(of).sum();
        sum / self.sorted_ns.len() as f64 + self.cpu_ns.unwrap_or(0.0)
    }

    /// The shortest of them that this part of all does not exceed.
    fn quantile_ns(&self, part: f64) -> f64 {
        let n = self.sorted_ns.len();
        let rank = (part * n as f64).ceil() as usize;
        self.sorted_ns[rank.clamp(1, n) - 1]
    }
}

struct Curve {
    /// Margin and cost, in nanoseconds.
    points: Vec<Point>,
    /// The point that costs least.
    least: Point,
    /// The margin that the part of the overshoots is no longer than.
    quantile_ns: f64,
}

impl Curve {
    fn of(overshoots: &Overshoots, weight: f64) -> Self {
        let cost = |margin_ns: f64| (margin_ns, overshoots.cost_ns(margin_ns, weight));
        let all = &overshoots.sorted_ns;
        let from = (all[0] / 2.0).max(LEAST_NS);
        let to = (all[all.len() - 1] * 1.25).max(2.0 * from);
        let step = log(to / from) / (POINTS - 1) as f64;
        let points = (0..POINTS).map(|i| cost(from * exp(step * i as f64)));
        // Between two overshoots the cost is a straight line, so the least is at
        // one of them.
        let corners = all.iter().filter(|ns| **ns >= LEAST_NS).copied();
        let corners = corners.map(cost).min_by(|a, b| a.1.total_cmp(&b.1));
        Self {
            points: points.collect(),
            least: corners.unwrap_or(cost(LEAST_NS)),
            quantile_ns: overshoots.quantile_ns(part_of(weight)).max(LEAST_NS),
        }
    }

    fn series(&self, name: String, look: Look) -> Series {
        let words = format!("{name}: {}", units::duration(self.quantile_ns));
        Series {
            marks: vec![self.least],
            upright: Some((self.quantile_ns, words)),
            ..Series::new(name, look, self.points.clone())
        }
    }
}

/// A hundredth of a per cent to ten times the request. It is the same in every
/// figure, so that two of them can be compared.
const SCALE: Scale = Scale {
    name: "relative error",
    ends: (-4.0, 1.0),
    parts: 5,
    written: |error| format!("{} %", units::plain(error * 100.0)),
};

/// For each subject, a heat map of the relative error.
pub(super) fn robustness(run: &Run) -> Vec<Figure> {
    select::by_subject(&select::of_run::<Robustness>(run))
        .iter()
        .filter(|(_, group)| group.iter().any(|m| error_of(*m).is_some()))
        .map(|(subject, group)| of_subject(run, subject, group))
        .collect()
}

fn of_subject(run: &Run, subject: &str, group: &[Row<'_, Robustness>]) -> Figure {
    let periods = select::values(group, select::scheduler_ns);
    let row = |(asked, of_row): (f64, Vec<Row<'_, Robustness>>)| {
        let at =
            |period: &f64| select::at(&of_row, select::scheduler_ns, *period).and_then(error_of);
        (units::nominal(asked), periods.iter().map(at).collect())
    };
    let map = HeatMap {
        title: format!("Relative error of {subject} by the scheduler's period"),
        caption: format!(
            "Mean |lateness| / time asked for, in %, n = {} requests each. Yellow is poor and dark \
             is good; the colours end at 0.01 % and 1000 %.{}",
            select::waits(group),
            select::simulated_in_words(group)
        ),
        axes: ["scheduler period", "time asked for"],
        columns: periods.iter().map(|&ns| units::nominal(ns)).collect(),
        rows: select::by_value(group, asked_ns)
            .into_iter()
            .map(row)
            .collect(),
        written: units::error_percent,
        scale: SCALE,
    };
    figure(&format!("robustness-{subject}"), map.draw(Some(run)))
}

fn error_of(m: Row<'_, Robustness>) -> Option<f64> {
    m.of.relative_error.filter(|_| m.late_ns.n > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::Experiment;

    fn of_length(asked_ns: u64) -> Measurement {
        let method = "poll".to_owned();
        Measurement::of(Experiment::Naps(Naps { method, asked_ns }), "poll")
    }

    /// From 30 us on, the more the rarer, in a mixed order: 7 919 is prime.
    fn overshoots(n: i64) -> Overshoots {
        let over = |i: i64| {
            let part = i as f64 / n as f64;
            30e3 + 20e3 * part / (1.001 - part)
        };
        let samples = (0..n).map(|i| over(i * 7_919 % n) as i64).collect();
        let naps = Measurement {
            samples_late_ns: samples,
            ..of_length(1_000_000)
        };
        Overshoots::of(&naps).unwrap()
    }

    #[test]
    fn the_least_of_each_curve_is_at_its_quantile() {
        for n in [1, 2, 7, 2_000] {
            let overshoots = overshoots(n);
            for weight in WEIGHTS {
                let curve = Curve::of(&overshoots, weight);
                // Where two margins cost the same, either is the least.
                let at_quantile = overshoots.cost_ns(curve.quantile_ns, weight);
                assert!(at_quantile <= curve.least.1 * (1.0 + 1e-9), "{n} {weight}");
                let lowest = curve
                    .points
                    .iter()
                    .map(|p| p.1)
                    .fold(f64::INFINITY, f64::min);
                assert!(curve.least.1 <= lowest, "{n} {weight}");
            }
        }
    }

    #[test]
    fn a_cost_is_cpu_time_spun_and_lateness_times_weight() {
        let overshoots = Overshoots {
            sorted_ns: vec![10e3, 20e3, 60e3],
            cpu_ns: Some(5e3),
        };
        let cost = overshoots.cost_ns(20e3, 10.0);
        assert!(
            (cost - (5e3 + (10e3 + 0.0 + 400e3) / 3.0)).abs() < 1e-6,
            "{cost}"
        );
    }

    #[test]
    fn the_length_nearest_to_a_millisecond_is_shown() {
        let naps = |asked_ns: u64, n: usize| Measurement {
            samples_late_ns: vec![50_000; n],
            ..of_length(asked_ns)
        };
        let all = [naps(640_000, 5), naps(1_280_000, 5), naps(1_000_000, 0)];
        let all = select::rows(&all);
        let found = of_about(LENGTH_NS, &all).unwrap();
        assert_eq!(found.of.asked_ns, 1_280_000);
    }
}
