//! What was predicted of pools that zero pages, against what came out.

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::{Interval, Run};
use punctual_report::figures::axis::Axis;
use punctual_report::figures::chart::{Canvas, Drawn, GREY, Sheet, TOP, write};
use punctual_report::figures::chart::{Chart, Place, legend_of_marks};
use punctual_report::figures::style::Look;
use punctual_report::figures::svg;
use punctual_report::figures::{Figure, figure};
use punctual_report::{prose, units};

use crate::report::{self, Cell, Section};
use crate::rows::ZeroRow;

/// Both axes have this length.
const SIDE: i32 = 500;

/// What the axes and the margins of a chart take.
const BESIDE: (i32, i32) = (94, 52);

/// A prediction is drawn as good if it is off by no more than this.
const BAND: f64 = 0.25;

/// So many of those that are worse are named, in lines of so many characters.
const NAMED: usize = 8;
const LINE: (i32, usize) = (19, 46);

struct Point<'r> {
    cell: &'r Cell<'r>,
    /// What its section is, among the others.
    of: String,
    measured: Interval,
    predicted: Interval,
}

impl Point<'_> {
    fn ratio(&self) -> f64 {
        self.predicted.median / self.measured.median
    }

    fn is_off(&self) -> bool {
        (self.ratio() - 1.0).abs() > BAND
    }
}

/// All pools of the run that have a prediction, and a CPU for each thread.
pub(super) fn predicted(run: &Run<ZeroRow>) -> Option<Figure> {
    let sections = report::of_run(run);
    let points: Vec<Point> = (sections.iter())
        .flat_map(|section| points(section, section.among(&sections)))
        .collect();
    if points.is_empty() {
        return None;
    }
    let locks = super::locks(&sections);
    let is_shown = |lock: &&&str| points.iter().any(|point| point.cell.lock == **lock);
    let entries = locks.iter().filter(is_shown);
    let entries: Vec<(&str, Look)> = entries.map(|l| (*l, super::look(&locks, l))).collect();
    let place = Place {
        left: 16,
        right: 16 + SIDE + BESIDE.0,
        top: TOP,
        bottom: TOP + SIDE + BESIDE.1,
    };
    let sheet = Sheet {
        title: "GB zeroed per CPU-second: predicted against measured".to_owned(),
        caption: caption(&points, &sections),
        height: place.height(),
    };
    let ends = points.iter().flat_map(|point| {
        let intervals = [point.measured, point.predicted];
        intervals
            .into_iter()
            .flat_map(|i| [i.low, i.median, i.high])
    });
    let ends: Vec<f64> = ends.collect();
    let axis = |name: &str| Axis::log_fine(name, &ends, units::gb_nominal);
    let x = axis("measured, GB per CPU-s");
    let y = axis("predicted, GB per CPU-s");
    let svg = sheet.draw(run, |canvas| {
        let chart = Chart::new(canvas, place, &x, &y)?;
        band(canvas, &chart, &x)?;
        for point in &points {
            let look = super::look(&locks, point.cell.lock);
            svg::series(canvas, point.cell.lock, || point.draw(canvas, &chart, look))?;
        }
        let below = 24 * (entries.len() as i32 + 2);
        name_worst(canvas, &points, (place.right, place.top + below))?;
        legend_of_marks(canvas, place, entries.iter().copied())
    });
    Some(figure("zero-predicted", svg))
}

fn points<'r>(section: &'r Section<'r>, of: String) -> impl Iterator<Item = Point<'r>> {
    let cells = section
        .cells
        .iter()
        .filter(|cell| !cell.is_oversubscribed());
    cells.filter_map(move |cell| {
        let predicted = cell.zeroing.predicted?.gb_per_cpu_s;
        let measured = cell.gb_per_cpu_s();
        let has_a_place = predicted.median > 0.0 && measured.median > 0.0;
        has_a_place.then_some(Point {
            cell,
            of: of.clone(),
            measured,
            predicted,
        })
    })
}

/// Names those outside the band, from the worst, below each other.
fn name_worst(canvas: &Canvas, points: &[Point], (left, top): (i32, i32)) -> Drawn {
    let mut worst: Vec<&Point> = points.iter().filter(|point| point.is_off()).collect();
    worst.sort_by(|a, b| error(b).total_cmp(&error(a)));
    if worst.is_empty() {
        return Ok(());
    }
    let head = format!("Off by more than {:.0} %:", BAND * 100.0);
    write(canvas, &head, (left, top), HPos::Left, &BLACK)?;
    let more = worst.len().saturating_sub(NAMED);
    let mut lines: Vec<String> = Vec::new();
    for point in worst.into_iter().take(NAMED) {
        lines.extend(prose::lines(&point.in_words(), LINE.1));
    }
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    let places = (top + LINE.0..).step_by(LINE.0 as usize);
    let mut lines = lines.iter().zip(places);
    lines.try_for_each(|(line, y)| write(canvas, line, (left, y), HPos::Left, &GREY))
}

/// The factor by which a prediction is off, in either direction.
fn error(point: &Point) -> f64 {
    point.ratio().max(1.0 / point.ratio())
}

impl Point<'_> {
    /// `+56.8 %: mcs, batch 1, 2 threads, hot memory`.
    fn in_words(&self) -> String {
        let percent = (self.ratio() - 1.0) * 100.0;
        let of = match self.of.as_str() {
            "" => String::new(),
            of => format!(", {of}"),
        };
        format!("{percent:+.1} %: {}{of}", self.cell.in_words())
    }

    fn draw(&self, canvas: &Canvas, chart: &Chart, look: Look) -> Drawn {
        let (x, y) = (self.measured, self.predicted);
        let at = |x, y| chart.pixel(x, y);
        let style = look.colour.mix(0.6).stroke_width(1);
        for line in [
            vec![at(x.low, y.median), at(x.high, y.median)],
            vec![at(x.median, y.low), at(x.median, y.high)],
        ] {
            canvas.draw(&PathElement::new(line, style))?;
        }
        svg::valued(canvas, &self.in_words(), || {
            look.marker(canvas, at(x.median, y.median))
        })
    }
}

/// The diagonal, and what is near it.
fn band(canvas: &Canvas, chart: &Chart, axis: &Axis) -> Drawn {
    let (from, to) = (axis.range().start, axis.range().end);
    let (below, above) = (1.0 - BAND, 1.0 + BAND);
    let corners = [
        (from, from),
        (from, above * from),
        (to / above, to),
        (to, to),
        (to, below * to),
        (from / below, from),
    ];
    let corners = corners.map(|(x, y)| chart.pixel(x, y));
    canvas.draw(&Polygon::new(corners.to_vec(), BLACK.mix(0.08)))?;
    let line = vec![chart.pixel(from, from), chart.pixel(to, to)];
    canvas.draw(&PathElement::new(line, GREY.stroke_width(1)))
}

fn caption(points: &[Point], sections: &[Section]) -> String {
    let cells: Vec<&Cell> = points.iter().map(|point| point.cell).collect();
    let sum: f64 = points.iter().map(|point| libm::log(error(point))).sum();
    let mean = libm::exp(sum / points.len() as f64) - 1.0;
    let off = points.iter().filter(|point| point.is_off()).count();
    let mut caption = format!(
        "Each point is a pool, {}, with its interval and that of the model, which covers what is not known of its \
         parameters. On the line both agree; in the grey band the prediction is off by {:.0} % at most: {} of {} pools. The geometric mean of the \
         errors is {} %.",
        super::rounds(&cells),
        BAND * 100.0,
        points.len() - off,
        points.len(),
        units::percent(mean)
    );
    let cells = sections.iter().flat_map(|section| &section.cells);
    let without = |cell: &&Cell| !cell.is_oversubscribed() && cell.zeroing.predicted.is_none();
    let without = cells.filter(without).count();
    if without > 0 {
        caption += &format!(" {without} pools without a prediction are left out.");
    }
    caption + &super::left_out(sections)
}
