//! The figures of page zeroing.

mod bursts;
mod pools;
mod probe;

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use punctual_record::{Interval, Run};
use punctual_report::figures::axis::Axis;
use punctual_report::figures::chart::{
    Canvas, Chart, Drawn, GREY, Place, Sheet, TOP, legend_of_marks, write,
};
use punctual_report::figures::style::Look;
use punctual_report::figures::{Figure, figure, make_names_unique, svg};
use punctual_report::{prose, select, units};

use crate::distinct;
use crate::report::{self, Cell, PoolGroup};
use crate::rows::ZeroRow;

/// The figures that a run of page zeroing has data for:
///
/// - `zero-scaling`: what pools zero per second of CPU time by their threads, a
///   panel per batch;
/// - `zero-split`: where the CPU time of the largest pools went;
/// - `zero-bursts`: how many CPUs zero at each instant, where pages come in bursts;
/// - `zero-predicted`: what was predicted of all pools, against what came out;
/// - `zero-probe-pages`: what a page costs, by the step;
/// - `zero-probe-blocks`: what a MiB costs, by the size of the block.
///
/// Pools of several kinds of memory, kernels or computers have their own.
pub(super) fn all(run: &Run<ZeroRow>) -> Vec<Figure> {
    let groups = report::of_run(run);
    let locks = distinct(groups.iter().flat_map(PoolGroup::locks));
    let each = groups.iter();
    let scaling = each.filter_map(|group| pools::scaling(run, group, &groups, &locks));
    let mut figures: Vec<Figure> = scaling.collect();
    let each = groups.iter();
    figures.extend(each.filter_map(|group| pools::split(run, group, &groups)));
    let each = groups.iter();
    figures.extend(each.filter_map(|group| bursts::bursts(run, group, &groups)));
    figures.extend(predicted(run, &groups, &locks));
    figures.extend(probe::probe(run));
    make_names_unique(&mut figures);
    figures
}

/// The locks that have a look of their own in all figures of all runs.
const LOCKS: [&str; 6] = ["tas", "ttas", "ticket", "mcs", "mutex", "counter"];

/// The look of a lock, of which the run has these.
fn look(locks: &[&str], lock: &str) -> Look {
    let others = locks.iter().filter(|lock| !LOCKS.contains(lock));
    let mut known = LOCKS.iter().chain(others);
    Look::nth(known.position(|known| *known == lock).unwrap_or(0))
}

/// Draws the figure of one group among others, and says of which machine it is.
fn of_group(
    name: &str,
    mut sheet: Sheet,
    run: &Run<ZeroRow>,
    (group, groups): (&PoolGroup, &[PoolGroup]),
    drawing: impl FnOnce(&Canvas) -> Drawn,
) -> Figure {
    let words = group.among(groups);
    if !words.is_empty() {
        sheet.title += &format!(": {words}");
    }
    let svg = match group.model() {
        Some(model) => {
            sheet.caption += &format!(" Machine: {model}, simulated.{}", not_validated(group));
            sheet.draw_of_several(drawing)
        }
        None => sheet.draw(run, drawing),
    };
    figure(&format!("{name} {words}"), svg)
}

/// The locks of a simulated group that are not validated.
fn not_validated(group: &PoolGroup) -> String {
    let locks = group.cells.iter();
    let locks = distinct(locks.flat_map(|cell| cell.simulated.not_validated.iter().cloned()));
    match locks.is_empty() {
        true => String::new(),
        false => format!(" Not validated: {}.", locks.join(", ")),
    }
}

/// The number of rounds behind each cell: `medians of n = 8 rounds`.
fn rounds(cells: &[&Cell]) -> String {
    let rounds = cells.iter().map(|cell| cell.zeroing.rounds.len() as u64);
    match select::counts(rounds).as_str() {
        "0" | "1" => "n = 1 pass each".to_owned(),
        many => format!("medians of n = {many} rounds each"),
    }
}

/// The same, and what the bars through them are.
fn with_intervals(cells: &[&Cell]) -> String {
    let bars = if cells.iter().any(|cell| cell.has_a_models_interval()) {
        "; a bar is what would come out if one of the figures that are not known of the computer were at an end of its \
         interval"
    } else if cells.iter().any(|cell| cell.zeroing.rounds.len() > 1) {
        "; a bar is the interval"
    } else {
        ""
    };
    rounds(cells) + bars
}

/// How many cells figures do not show, as they are of the scheduler.
fn left_out<'s>(groups: impl IntoIterator<Item = &'s PoolGroup<'s>>) -> String {
    let cells = groups.into_iter().flat_map(|group| &group.cells);
    match cells.filter(|cell| cell.is_oversubscribed()).count() {
        0 => String::new(),
        1 => " One pool of more threads than CPUs is left out.".to_owned(),
        many => format!(" {many} pools of more threads than CPUs are left out."),
    }
}

/// Both axes have this length.
const SIDE: i32 = 500;

/// The room for the axes and margins of a chart.
const BESIDE: (i32, i32) = (94, 52);

/// A prediction is drawn as good if it is off by no more than this.
const BAND: f64 = 0.25;

/// The number of worse cells that are named, and the length of a line.
const NAMED: usize = 8;
const LINE: (i32, usize) = (19, 46);

struct Point<'r> {
    cell: &'r Cell<'r>,
    /// The name of its group among the others.
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

    /// `+56.8 %: mcs, batch 1, 2 threads, hot memory`.
    fn in_words(&self) -> String {
        let percent = (self.ratio() - 1.0) * 100.0;
        let cell = self.cell.in_words();
        let words = [cell.as_str(), &self.of]
            .into_iter()
            .filter(|it| !it.is_empty());
        format!("{percent:+.1} %: {}", prose::list(words))
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

/// All pools of the run that have a prediction, and a CPU for each thread.
fn predicted(run: &Run<ZeroRow>, groups: &[PoolGroup], locks: &[&str]) -> Option<Figure> {
    let points: Vec<Point> = (groups.iter())
        .flat_map(|group| points(group, group.among(groups)))
        .collect();
    if points.is_empty() {
        return None;
    }
    let is_shown = |lock: &&&str| points.iter().any(|point| point.cell.lock == **lock);
    let entries = locks.iter().filter(is_shown);
    let entries: Vec<(&str, Look)> = entries.map(|l| (*l, look(locks, l))).collect();
    let place = Place {
        left: 16,
        right: 16 + SIDE + BESIDE.0,
        top: TOP,
        bottom: TOP + SIDE + BESIDE.1,
    };
    let sheet = Sheet {
        title: "GB zeroed per CPU-second: predicted against measured".to_owned(),
        caption: caption(&points, groups),
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
            let look = look(locks, point.cell.lock);
            svg::series(canvas, point.cell.lock, || point.draw(canvas, &chart, look))?;
        }
        let below = 24 * (entries.len() as i32 + 2);
        name_worst(canvas, &points, (place.right, place.top + below))?;
        legend_of_marks(canvas, place, entries.iter().copied())
    });
    Some(figure("zero-predicted", svg))
}

fn points<'r>(group: &'r PoolGroup<'r>, of: String) -> impl Iterator<Item = Point<'r>> {
    let cells = group.cells.iter().filter(|cell| !cell.is_oversubscribed());
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

fn caption(points: &[Point], groups: &[PoolGroup]) -> String {
    let cells: Vec<&Cell> = points.iter().map(|point| point.cell).collect();
    let sum: f64 = points.iter().map(|point| libm::log(error(point))).sum();
    let mean = libm::exp(sum / points.len() as f64) - 1.0;
    let off = points.iter().filter(|point| point.is_off()).count();
    let mut caption = format!(
        "Each point is a pool, {}, with its interval and that of the model, which covers what is not known of its \
         parameters. On the line both agree; in the grey band the prediction is off by {:.0} % at most: {} of {} pools. The geometric mean of the \
         errors is {} %.",
        rounds(&cells),
        BAND * 100.0,
        points.len() - off,
        points.len(),
        units::percent(mean)
    );
    let cells = groups.iter().flat_map(|group| &group.cells);
    let without = |cell: &&Cell| !cell.is_oversubscribed() && cell.zeroing.predicted.is_none();
    let without = cells.filter(without).count();
    if without > 0 {
        caption += &format!(" {without} pools without a prediction are left out.");
    }
    caption + &left_out(groups)
}
