//! What a wait gains and what it costs: lateness against CPU time.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::experiment::Deadlines;

use punctual_record::{Measurement, Run};

use super::axis::{Axis, LEAST_NS};
use super::chart::{Chart, Place};
use super::figure::{Figure, figure};
use super::sheet::{Canvas, Drawn, GREY, Pixel, Sheet, approximate_in_words, text_width, write};
use super::style::Look;
use super::svg;
use crate::select;
use crate::units;

/// The least the CPU axis shows: below a hundredth of a per cent the cost no
/// longer matters.
const LEAST_CPU_PERCENT: f64 = 0.01;

/// For each rate, a point per subject.
pub(super) fn cost(run: &Run) -> Vec<Figure> {
    select::grouped(select::paced(run, Deadlines::Absolute), select::rate)
        .iter()
        .filter_map(|(rate, group)| at_rate(run, rate, &select::plain(group)))
        .collect()
}

struct Point<'a> {
    subject: &'a str,
    look: Look,
    cpu_percent: f64,
    late_ns: f64,
    p99_ns: Option<f64>,
}

fn at_rate(run: &Run, rate: &str, group: &[&Measurement]) -> Option<Figure> {
    let points: Vec<Point> = group.iter().filter_map(|m| point(run, m)).collect();
    if points.is_empty() {
        return None;
    }
    let place = Place::whole();
    let sheet = Sheet {
        title: format!("Lateness against CPU time at {rate}"),
        caption: caption(group, &points),
        height: place.height(),
    };
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
    Some(figure(&format!("cost-{}", rate.replace(' ', "")), svg))
}

impl Point<'_> {
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

fn point<'a>(run: &Run, m: &'a Measurement) -> Option<Point<'a>> {
    Some(Point {
        subject: &m.subject,
        look: Look::of(run, &m.subject),
        cpu_percent: m.cpu.fraction? * 100.0,
        late_ns: select::typical_late_ns(m)?.0,
        p99_ns: m.late_ns.p99.map(|ns| ns as f64),
    })
}

fn caption(group: &[&Measurement], points: &[Point]) -> String {
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
        let subjects: Vec<&str> = group
            .iter()
            .filter(name)
            .map(|m| m.subject.as_str())
            .collect();
        subjects.join(", ")
    };
    let means = of(|m| matches!(select::typical_late_ns(m), Some((_, false))));
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

/// A line through the points that no other beats in both: whoever wants less of one has to
/// take more of the other (Pareto).
fn frontier(canvas: &Canvas, chart: &Chart, points: &[Point]) -> Drawn {
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
fn whisker(canvas: &Canvas, chart: &Chart, point: &Point) -> Drawn<Taken> {
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
