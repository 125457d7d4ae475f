//! Article figure 1: the waits of the frames, one by one.

use plotters::prelude::*;
use punctual_record::experiment::{Deadlines, Pace};

use punctual_record::{Measurement, Run};

use super::axis::Axis;
use super::chart::Chart;
use super::figure::{Figure, figure};
use super::panels::{Layout, Panel, Panels};
use super::plot::low_in_words;
use super::sheet::{Canvas, Drawn, Pixel};
use super::style::Look;
use super::svg;
use crate::select::{self, Row};
use crate::units;

const LAYOUT: Layout = Layout {
    high: 92,
    air: (0, 8),
    above: 0,
    left: 36,
    right: 60,
    lines: (16, 18),
};

/// More waits than this are drawn as the span of several at a time: a line
/// through every one of a hundred thousand would be a file of megabytes and a
/// smear.
const MOST_POINTS: usize = 1_000;

/// More waits than this do not say how late each was: nobody points at one of them.
const MOST_VALUES: usize = 200;

/// For each rate, a strip per subject on one scale, so that one subject's line
/// does not hide the others.
pub(super) fn frames(run: &Run) -> Vec<Figure> {
    [Series::Frames, Series::Lateness]
        .into_iter()
        .flat_map(|series| {
            let mut sampled = select::paced(run, series.deadlines());
            sampled.retain(|m| !m.samples_late_ns.is_empty());
            let groups = select::grouped(sampled, select::rate);
            groups
                .into_iter()
                .map(move |(rate, group)| at_rate(run, &rate, series, &group))
        })
        .collect()
}

/// What is drawn of each wait.
#[derive(Clone, Copy)]
enum Series {
    /// The period and how late it ended, where each began when the one before
    /// it ended. From one wake to the next it is a little longer.
    Frames,
    /// How late it ended for its cycle.
    Lateness,
}

impl Series {
    fn deadlines(self) -> Deadlines {
        match self {
            Self::Frames => Deadlines::Relative,
            Self::Lateness => Deadlines::Absolute,
        }
    }

    /// What it is called: of the figure's file, in its title, and on its y axis.
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

    /// What is drawn of a wait: milliseconds of a frame, nanoseconds of lateness.
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

/// What the y axes of all frames show, in milliseconds.
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

    fn above(&self, times_ms: &[f64]) -> usize {
        times_ms.iter().filter(|ms| **ms > self.to).count()
    }

    fn below(&self, times_ms: &[f64]) -> usize {
        times_ms.iter().filter(|ms| **ms < self.from).count()
    }
}

fn at_rate(run: &Run, rate: &str, series: Series, group: &[Row<'_, Pace>]) -> Figure {
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
        caption: caption(&strips, span.as_ref(), series, period_ns),
        layout: LAYOUT,
        x: Axis::linear("wait", 0.0, longest.unwrap_or(1) as f64, 5),
        y: y_axis,
        above: vec![],
        panels: panels.collect(),
    };
    let rate = rate.replace(' ', "");
    figure(&format!("{file}-{rate}"), panels.draw(run))
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
    let beyond = span.map_or([0, 0], |span| [span.above(values), span.below(values)]);
    for (count, side) in beyond.into_iter().zip(["above", "below"]) {
        if count > 0 {
            lines.push(format!("{count} {side}"));
        }
    }
    lines
}

fn caption(
    strips: &[(&Measurement, Vec<f64>)],
    span: Option<&Span>,
    series: Series,
    period_ns: f64,
) -> String {
    let period = units::nominal(period_ns);
    let what = match series {
        Series::Frames => {
            format!(
                "Each wait begins when the one before it ended; the dashed line is the period, \
                 {period}."
            )
        }
        Series::Lateness => format!("One wait every {period}."),
    };
    let n = select::counts(strips.iter().map(|(_, times)| times.len() as u64));
    let mut caption = format!("{what} One scale for all subjects. n = {n} waits each.");
    let of = |count: fn(&Span, &[f64]) -> usize| -> usize {
        let counts = span.iter().flat_map(|span| {
            let strips = strips.iter();
            strips.map(|(_, values)| count(span, values))
        });
        counts.sum()
    };
    let (above, below) = (of(Span::above), of(Span::below));
    if span.is_none() {
        let values = strips.iter().flat_map(|(_, values)| values.iter().copied());
        caption += &low_in_words(values);
    }
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
