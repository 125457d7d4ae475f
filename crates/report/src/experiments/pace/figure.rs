//! Loops at a rate: the waits one by one, what they gain and cost, and how they are distributed.

use std::collections::BTreeMap;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::experiment::{Deadlines, Pace};
use punctual_record::{Measurement, Run};

use crate::figures::axis::{Axis, LEAST_NS};
use crate::figures::chart::{
    Canvas, Chart, Drawn, GREY, Pixel, Place, Sheet, approximate_in_words, text_width, write,
};
use crate::figures::panels::{Layout, Panel, Panels};
use crate::figures::plot::{Plot, Point, Series, low_in_words};
use crate::figures::style::Look;
use crate::figures::{Figure, figure, svg};
use crate::select::{self, Row};
use crate::{prose, units};

const STRIPS: Layout = Layout {
    high: 92,
    air: (0, 8),
    above: 0,
    left: 36,
    right: 60,
    lines: (16, 18),
};

/// More waits than this are drawn as the span of several at a time. A line through every one of a
/// hundred thousand would be a file of megabytes and a smear.
const MOST_POINTS: usize = 1_000;

/// More waits than this do not show their single values, which a pointer could not pick.
const MOST_VALUES: usize = 200;

/// For each rate, a strip per subject on one scale, so that one subject's line
/// does not hide the others.
pub(crate) fn frames(run: &Run) -> Vec<Figure> {
    [Shown::Frames, Shown::Lateness]
        .into_iter()
        .flat_map(|series| {
            let mut sampled = select::paced(run, series.deadlines());
            sampled.retain(|m| !m.samples_late_ns.is_empty());
            let groups = select::grouped(sampled, select::rate);
            groups
                .into_iter()
                .map(move |(rate, group)| strips_at(run, &rate, series, &group))
        })
        .collect()
}

/// The value that is drawn of each wait.
#[derive(Clone, Copy)]
enum Shown {
    /// The period and how late it ended, where each began when the one before
    /// it ended. From one wake to the next it is a little longer.
    Frames,
    /// How late it ended for its cycle.
    Lateness,
}

impl Shown {
    fn deadlines(self) -> Deadlines {
        match self {
            Self::Frames => Deadlines::Relative,
            Self::Lateness => Deadlines::Absolute,
        }
    }

    /// The names: of the figure's file, in its title, and on its y axis.
    fn names(self) -> [&'static str; 3] {
        match self {
            Self::Frames => [
                "frames",
                "Period + lateness of each wait",
                "period + lateness (ms)",
            ],
            Self::Lateness => ["lateness", "Lateness of each wait", "lateness"],
        }
    }

    /// The drawn value of a wait: milliseconds of a frame, nanoseconds of lateness.
    fn value(self, period_ns: f64, late_ns: i64) -> f64 {
        match self {
            Self::Frames => (period_ns + late_ns as f64) / 1e6,
            Self::Lateness => late_ns as f64,
        }
    }

    /// The axis of all strips, and what of frames it holds. Lateness is of all sizes, and a
    /// line at the bottom of a linear axis tells nothing.
    fn axis(self, strips: &[(&Measurement, Vec<f64>)], period_ns: f64) -> (Axis, Option<Span>) {
        let values = || strips.iter().flat_map(|(_, values)| values.iter().copied());
        match self {
            Self::Frames => {
                let span = Span::of(strips, period_ns / 1e6);
                (Axis::linear("", span.from, span.to, 2), Some(span))
            }
            Self::Lateness => (Axis::log_ns("", values()).with_few_ticks(4), None),
        }
    }
}

/// The range of the y axes of all frames, in milliseconds.
struct Span {
    from: f64,
    to: f64,
}

impl Span {
    /// Holds the middle 98 % of every subject, and what is wanted. The rest is
    /// drawn at the edge and counted.
    fn of(strips: &[(&Measurement, Vec<f64>)], wanted_ms: f64) -> Self {
        let (mut from, mut to) = (wanted_ms, wanted_ms);
        for (_, times_ms) in strips {
            let mut sorted = times_ms.clone();
            sorted.sort_by(f64::total_cmp);
            let rare = sorted.len() / 100;
            from = from.min(sorted[rare]);
            to = to.max(sorted[sorted.len() - 1 - rare]);
        }
        // A microsecond of air, so that the line of the best has something to
        // stand on.
        let air = (0.05 * (to - from)).max(1e-3);
        Self {
            from: from - air,
            to: to + air,
        }
    }

    /// How many lie above it, and how many below.
    fn beyond(&self, times_ms: &[f64]) -> [usize; 2] {
        let above = times_ms.iter().filter(|ms| **ms > self.to).count();
        [above, times_ms.iter().filter(|ms| **ms < self.from).count()]
    }
}

fn strips_at(run: &Run, rate: &str, series: Shown, group: &[Row<'_, Pace>]) -> Figure {
    let [file, title, y_axis] = series.names();
    let period_ns = group.first().map_or(0.0, |m| m.of.period_ns as f64);
    let group = select::plain(group);
    let values = |m: &Measurement| {
        let late = m.samples_late_ns.iter();
        late.map(|ns| series.value(period_ns, *ns)).collect()
    };
    let strips: Vec<(&Measurement, Vec<f64>)> = group.iter().map(|&m| (m, values(m))).collect();
    let (y, span) = series.axis(&strips, period_ns);
    let longest = strips.iter().map(|(_, times)| times.len()).max();
    let panels = strips.iter().map(|(m, values)| Panel {
        name: &m.subject,
        lines: beside(values, span.as_ref()),
        y: y.clone(),
        draw: Box::new(|canvas, chart, _| {
            svg::series(canvas, &m.subject, || {
                strip(canvas, chart, Look::of(run, &m.subject), values)
            })?;
            if span.is_none() {
                return Ok(());
            }
            let ends = [0.0, values.len() as f64];
            let wanted = ends.map(|i| chart.pixel(i, period_ns / 1e6));
            svg::dashed(canvas, [4, 4], wanted, BLACK.mix(0.5).stroke_width(1))
        }),
    });
    let panels = Panels {
        title: format!("{title} at {rate}"),
        caption: caption_of_strips(&strips, span.as_ref(), series, period_ns),
        layout: STRIPS,
        x: Axis::linear("wait", 0.0, longest.unwrap_or(1) as f64, 5),
        y: y_axis,
        above: vec![],
        panels: panels.collect(),
    };
    figure_at(file, rate, panels.draw(run))
}

fn figure_at(file: &str, rate: &str, svg: String) -> Figure {
    figure(&format!("{file}-{}", rate.replace(' ', "")), svg)
}

fn strip(canvas: &Canvas, chart: &Chart, look: Look, values: &[f64]) -> Drawn {
    let points: Vec<Pixel> = thinned(values)
        .into_iter()
        .map(|(i, value)| chart.pixel(i as f64, value))
        .collect();
    let words = values.iter().enumerate();
    let words = words.map(|(i, value)| chart.values((i as f64, *value)));
    let words = words.filter(|_| values.len() <= MOST_VALUES);
    svg::curve(canvas, words, || {
        let style = look.colour.stroke_width(1);
        canvas.draw(&PathElement::new(points.clone(), style))
    })?;
    match points[..] {
        [only] => look.marker(canvas, only),
        _ => Ok(()),
    }
}

/// Every value, or of several at once the least and the greatest, in order.
fn thinned(times: &[f64]) -> Vec<(usize, f64)> {
    let together = together(times.len());
    if together == 1 {
        return times.iter().copied().enumerate().collect();
    }
    times
        .chunks(together)
        .enumerate()
        .flat_map(|(i, chunk)| {
            let least = chunk.iter().copied().fold(f64::INFINITY, f64::min);
            let most = chunk.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            [(i * together, least), (i * together, most)]
        })
        .collect()
}

/// How many waits are drawn as one.
fn together(times: usize) -> usize {
    if times <= MOST_POINTS {
        1
    } else {
        (2 * times).div_ceil(MOST_POINTS)
    }
}

/// To the right of a strip: n, and what it does not show.
fn beside(values: &[f64], span: Option<&Span>) -> Vec<String> {
    let mut lines = vec![format!("n = {}", values.len())];
    let beyond = span.map_or([0, 0], |span| span.beyond(values));
    for (count, side) in beyond.into_iter().zip(["above", "below"]) {
        if count > 0 {
            lines.push(format!("{count} {side}"));
        }
    }
    lines
}

fn caption_of_strips(
    strips: &[(&Measurement, Vec<f64>)],
    span: Option<&Span>,
    series: Shown,
    period_ns: f64,
) -> String {
    let period = units::nominal(period_ns);
    let what = match series {
        Shown::Frames => {
            format!(
                "Each wait begins when the one before it ended; the dashed line is the period, \
                 {period}."
            )
        }
        Shown::Lateness => format!("One wait every {period}."),
    };
    let n = select::counts(strips.iter().map(|(_, times)| times.len() as u64));
    let mut caption = format!("{what} One scale for all subjects. n = {n} waits each.");
    let values = || strips.iter().flat_map(|(_, values)| values.iter().copied());
    let [above, below] = match span {
        Some(span) => span.beyond(&values().collect::<Vec<_>>()),
        None => {
            caption += &low_in_words(values());
            [0, 0]
        }
    };
    if above + below > 0 {
        caption += &format!(
            " The scale holds the middle 98 % of each subject: {above} waits above it and {below} \
             below are drawn at its edge."
        );
    }
    let together = strips.iter().map(|(_, times)| together(times.len())).max();
    if let Some(together) = together.filter(|&t| t > 1) {
        caption +=
            &format!(" Each stroke spans the least to the greatest of up to {together} waits.");
    }
    caption
}

/// The least the CPU axis shows: below a hundredth of a per cent the cost no
/// longer matters.
const LEAST_CPU_PERCENT: f64 = 0.01;

/// For each rate, a point per subject.
pub(crate) fn cost(run: &Run) -> Vec<Figure> {
    select::grouped(select::paced(run, Deadlines::Absolute), select::rate)
        .iter()
        .filter_map(|(rate, group)| costs_at(run, rate, &select::plain(group)))
        .collect()
}

struct Costs<'a> {
    subject: &'a str,
    look: Look,
    cpu_percent: f64,
    late_ns: f64,
    p99_ns: Option<f64>,
}

fn costs_at(run: &Run, rate: &str, group: &[&Measurement]) -> Option<Figure> {
    let points: Vec<Costs> = group.iter().filter_map(|m| point(run, m)).collect();
    if points.is_empty() {
        return None;
    }
    let place = Place::whole();
    let title = format!("Lateness against CPU time at {rate}");
    let sheet = Sheet::new(title, caption_of_costs(group, &points), place.height());
    let cpu = points.iter().map(|p| p.cpu_percent);
    let x = Axis::log("CPU time billed (%)", LEAST_CPU_PERCENT, cpu, units::plain).with_air();
    let late = points.iter().flat_map(|p| [Some(p.late_ns), p.p99_ns]);
    let y = Axis::log_ns("lateness", late.flatten()).with_air();
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &x, &y)?;
        let mut taken = Vec::new();
        for point in &points {
            taken.push(whisker(canvas, &chart, point)?);
        }
        frontier(canvas, &chart, &points)?;
        for point in &points {
            label(canvas, point.subject, point.at(&chart), place, &mut taken)?;
        }
        // No line hides a mark.
        points
            .iter()
            .try_for_each(|point| svg::series(canvas, point.subject, || point.draw(canvas, &chart)))
    });
    Some(figure_at("cost", rate, svg))
}

impl Costs<'_> {
    fn at(&self, chart: &Chart) -> Pixel {
        let cpu_percent = self.cpu_percent.max(LEAST_CPU_PERCENT);
        chart.pixel(cpu_percent, self.late_ns.max(LEAST_NS))
    }

    fn draw(&self, canvas: &Canvas, chart: &Chart) -> Drawn {
        let words = chart.in_words((self.cpu_percent, self.late_ns));
        svg::valued(canvas, &words, || self.look.marker(canvas, self.at(chart)))
    }

    /// Whether another is no later and no dearer, and one of both less.
    fn is_beaten(&self, points: &[Self]) -> bool {
        let mut others = points.iter();
        others.any(|other| {
            let cost = |point: &Self| [point.cpu_percent, point.late_ns];
            let is_no_worse = cost(other).iter().zip(cost(self)).all(|(o, s)| *o <= s);
            is_no_worse && cost(other) != cost(self)
        })
    }
}

fn point<'a>(run: &Run, m: &'a Measurement) -> Option<Costs<'a>> {
    Some(Costs {
        subject: &m.subject,
        look: Look::of(run, &m.subject),
        cpu_percent: m.cpu.fraction? * 100.0,
        late_ns: select::typical_ns(m)?,
        p99_ns: m.late_ns.p99.map(|ns| ns as f64),
    })
}

fn caption_of_costs(group: &[&Measurement], points: &[Costs]) -> String {
    let n = select::counts(group.iter().map(|m| m.late_ns.n));
    let mut caption = format!(
        "Each point is a subject's median lateness and the CPU time billed to its thread. Lower and \
         further left is better, and the dashed line joins those that no other beats in both. n = {n} \
         waits each."
    );
    if points.iter().any(|p| p.p99_ns.is_some()) {
        caption += " The line above a point ends at the 99th percentile, where one is known.";
    }
    let of = |name: fn(&&&Measurement) -> bool| {
        prose::list(group.iter().filter(name).map(|m| &m.subject))
    };
    let means = of(|m| select::is_mean(m));
    if !means.is_empty() {
        caption += &format!(" Mean instead of median, for lack of samples: {means}.");
    }
    let missing = of(|m| m.cpu.fraction.is_none() || m.late_ns.n == 0);
    if !missing.is_empty() {
        caption += &format!(" Not shown, as their CPU time or lateness is not known: {missing}.");
    }
    caption += &approximate_in_words(group);
    if points.iter().any(|p| p.late_ns < LEAST_NS) {
        caption += " Lateness below 1 ns, or early, is drawn at 1 ns.";
    }
    if points.iter().any(|p| p.cpu_percent < LEAST_CPU_PERCENT) {
        caption += " CPU time below 0.01 % is drawn at 0.01 %.";
    }
    caption
}

/// A line through the points that no other beats in both: less of one means more of the other
/// (Pareto).
fn frontier(canvas: &Canvas, chart: &Chart, points: &[Costs]) -> Drawn {
    let best = points.iter().filter(|point| !point.is_beaten(points));
    let mut best: Vec<Pixel> = best.map(|point| point.at(chart)).collect();
    best.sort_unstable();
    let corners = best.windows(2).map(|pair| (pair[1].0, pair[0].1));
    let mut line: Vec<Pixel> = best.iter().copied().chain(corners).collect();
    // The corner to the right of a point comes before the next, which is lower.
    line.sort_unstable();
    svg::dashed(canvas, [4, 4], line, GREY.stroke_width(1))
}

/// A part of the sheet that is in use.
type Taken = (Pixel, Pixel);

/// Draws the line up to the 99th percentile, and returns what it and the marker
/// take.
fn whisker(canvas: &Canvas, chart: &Chart, point: &Costs) -> Drawn<Taken> {
    let (x, y) = point.at(chart);
    let mut top = y;
    if let Some(p99_ns) = point.p99_ns {
        top = chart.pixel(1.0, p99_ns.max(LEAST_NS)).1;
        let style = point.look.colour.stroke_width(2);
        canvas.draw(&PathElement::new(vec![(x, y), (x, top)], style))?;
        canvas.draw(&PathElement::new(vec![(x - 5, top), (x + 5, top)], style))?;
    }
    Ok(((x - 6, top.min(y - 6)), (x + 6, y + 6)))
}

/// How far from its point a name can stand, above or below: so many steps of half
/// a line.
const STEPS: i32 = 50;
const STEP: i32 = 8;

/// Writes a subject's name beside its point, at the nearest height that is free;
/// if that is not the height of the point, a thin line leads there.
fn label(
    canvas: &Canvas,
    subject: &str,
    (x, y): Pixel,
    within: Place,
    taken: &mut Vec<Taken>,
) -> Drawn {
    let width = text_width(subject);
    let sides = [(HPos::Left, x + 11), (HPos::Right, x - 11 - width)];
    let heights = (0..=STEPS).flat_map(|i| [y - STEP * i, y + STEP * i]);
    let mut places = heights.flat_map(|middle| {
        sides.map(|(side, left)| (side, ((left, middle - 8), (left + width, middle + 8))))
    });
    let free = places.find(|(_, place)| {
        let ((left, top), (right, bottom)) = *place;
        left > within.left + 70
            && right < within.right - 24
            && top > within.top
            && bottom < within.bottom - 46
            && !taken.iter().any(|other| overlap(*place, *other))
    });
    // Where nothing is free, names lie upon each other, but none is missing.
    let beside = ((x + 11, y - 8), (x + 11 + width, y + 8));
    let (side, place) = free.unwrap_or((HPos::Left, beside));
    taken.push(place);
    let ((left, top), (right, _)) = place;
    let middle = top + 8;
    let (begin, towards) = match side {
        HPos::Right => (right, 2),
        _ => (left, -2),
    };
    if (middle - y).abs() > STEP {
        let line = vec![(x, y), (begin + towards, middle)];
        canvas.draw(&PathElement::new(line, GREY.mix(0.6)))?;
    }
    write(canvas, subject, (begin, middle), side, &BLACK)
}

fn overlap(a: Taken, b: Taken) -> bool {
    let ((a_left, a_top), (a_right, a_bottom)) = a;
    let ((b_left, b_top), (b_right, b_bottom)) = b;
    a_left < b_right && b_left < a_right && a_top < b_bottom && b_top < a_bottom
}

/// The latest so many waits each have a point in the tail; before them the points are as far
/// apart as a twentieth of what is left, so that the tail is as fine as the rest.
const FEW: usize = 20;

/// How many bins the axis of the histogram has, and where its logarithmic axis begins, below
/// a single wait.
const BINS: usize = 60;
const HALF: f64 = 0.5;

const HISTOGRAMS: Layout = Layout {
    high: 72,
    left: 16,
    ..STRIPS
};

/// For each rate the share of waits that were later than so much, and how many were how
/// late.
pub(crate) fn distributions(run: &Run) -> Vec<Figure> {
    let mut sampled = select::paced(run, Deadlines::Absolute);
    sampled.retain(|m| !m.samples_late_ns.is_empty());
    select::grouped(sampled, select::rate)
        .iter()
        .flat_map(|(rate, group)| [tail(run, rate, group), histogram(run, rate, group)])
        .collect()
}

fn n_in_words(group: &[Row<'_, Pace>]) -> String {
    select::counts(group.iter().map(|m| m.samples_late_ns.len() as u64))
}

fn tail(run: &Run, rate: &str, group: &[Row<'_, Pace>]) -> Figure {
    let series = Series::of_subjects(run, group, |rows| later_than(&samples(rows)));
    let series = series.into_iter().map(|series| Series {
        marks: vec![],
        ..series
    });
    let series: Vec<Series> = series.collect();
    let points = || series.iter().flat_map(|series| &series.line);
    let late = group.iter().flat_map(|m| m.samples_late_ns.iter());
    let low = low_in_words(late.map(|ns| *ns as f64));
    let plot = Plot {
        title: format!("Waits that were later than so much at {rate}"),
        caption: format!(
            "Read: of all waits, so many per cent were later than that; a line ends at the latest one. n = {} waits \
             each.{low}",
            n_in_words(group)
        ),
        x: Axis::log_ns("late", points().map(|point| point.0)),
        y: Axis::log(
            "% of waits",
            1e-4,
            points().map(|point| point.1),
            units::plain,
        ),
        series,
    };
    figure_at("tail", rate, plot.draw(run))
}

fn samples(rows: &[Row<'_, Pace>]) -> Vec<i64> {
    let mut samples: Vec<i64> = rows
        .iter()
        .flat_map(|m| m.samples_late_ns.clone())
        .collect();
    samples.sort_unstable();
    samples
}

/// The share that was later, in per cent, by how late; the last at one of all.
fn later_than(sorted: &[i64]) -> Vec<Point> {
    let n = sorted.len();
    let mut points = Vec::new();
    let mut later = n;
    while later > 0 {
        let late_ns = sorted[n - later] as f64;
        points.push((late_ns.max(LEAST_NS), later as f64 / n as f64 * 100.0));
        later = (later - 1).min(if later > FEW { later * 19 / 20 } else { later });
    }
    points
}

/// A strip per subject on one scale, so that no subject hides another.
fn histogram(run: &Run, rate: &str, group: &[Row<'_, Pace>]) -> Figure {
    let all = samples(group);
    let to = all[(all.len() - 1) * 99 / 100].max(1) as f64 * 1.1;
    let width = to / BINS as f64;
    let beyond = all.iter().filter(|ns| **ns as f64 >= to).count();
    let strips = select::by_subject(group).into_iter();
    let strips: Vec<(&str, BTreeMap<usize, u64>)> = strips
        .map(|(subject, rows)| (subject, counts(&samples(&rows), width)))
        .collect();
    let highest = strips.iter().flat_map(|(_, bins)| bins.values());
    let highest = highest.map(|n| *n as f64).chain([HALF]);
    let y = Axis::log("", HALF, highest, units::plain).with_few_ticks(4);
    let last = prose::when(beyond > 0, || {
        format!(" The last bin has all that were later, {beyond} waits.")
    });
    let panels = strips.iter().map(|(subject, bins)| Panel {
        name: subject,
        lines: vec![format!("n = {}", bins.values().sum::<u64>())],
        y: y.clone(),
        draw: Box::new(move |canvas, chart, _| {
            let fill = Look::of(run, subject).colour.filled();
            bins.iter().try_for_each(|(&bin, &n)| {
                let from = bin as f64 * width / 1e3;
                let (left, top) = chart.pixel(from, n as f64);
                let (right, bottom) = chart.pixel(from + width / 1e3, HALF);
                let words = format!("{n} from {}", units::duration(bin as f64 * width));
                svg::valued(canvas, &words, || {
                    canvas.draw(&Rectangle::new([(left, top), (right, bottom)], fill))
                })
            })
        }),
    });
    let panels = Panels {
        title: format!("How many waits were how late at {rate}"),
        caption: format!(
            "Waits in bins of {}, the counts on a logarithmic axis; n = {} waits each.{last}",
            units::duration(width),
            n_in_words(group)
        ),
        layout: HISTOGRAMS,
        x: Axis::linear("late (us)", 0.0, to / 1e3, 8),
        y: "",
        above: vec![],
        panels: panels.collect(),
    };
    figure_at("histogram", rate, panels.draw(run))
}

/// How many are in each bin that has any, the last with all that are later.
fn counts(samples: &[i64], width: f64) -> BTreeMap<usize, u64> {
    let mut bins = BTreeMap::new();
    for ns in samples {
        let bin = (*ns as f64 / width).max(0.0) as usize;
        *bins.entry(bin.min(BINS - 1)).or_default() += 1;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_begins_at_all_and_ends_at_one() {
        let sorted: Vec<i64> = (1..=10_000).collect();
        let points = later_than(&sorted);
        assert!(points.len() < 200, "{}", points.len());
        assert_eq!(points[0], (1.0, 100.0));
        assert_eq!(points[points.len() - 1], (10_000.0, 0.01));
        for &(late_ns, share) in &points {
            let later = sorted.iter().filter(|ns| **ns as f64 >= late_ns).count();
            assert!(
                (later as f64 / 100.0 - share).abs() < 1e-9,
                "{late_ns} {share}"
            );
        }
        assert_eq!(later_than(&[7]), [(7.0, 100.0)]);
    }

    #[test]
    fn no_wait_is_missing_in_the_histogram() {
        let samples: Vec<i64> = (-3..600).chain([5_000, 9_000]).collect();
        let bins = counts(&samples, 10.0);
        assert_eq!(bins[&0], 13);
        assert_eq!(bins[&(BINS - 1)], 12);
        assert_eq!(bins.values().sum::<u64>(), samples.len() as u64);
    }
}
