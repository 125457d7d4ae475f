//! The cost of fresh memory: by step, and by size of a block.

use plotters::prelude::*;
use punctual_record::{Interval, Run};
use punctual_report::figures::axis::Axis;
use punctual_report::figures::chart::{Sheet, legend_of_marks};
use punctual_report::figures::plot::{Plot, Series};
use punctual_report::figures::rows::Rows;
use punctual_report::figures::style::Look;
use punctual_report::figures::{Figure, figure, svg};
use punctual_report::{select, units};

use crate::report::PAGES_PER_MIB;
use crate::rows::{HugePages, ZeroProbe, ZeroRow};
use crate::{ascending, distinct};

/// The least that is drawn: less than a nanosecond for a page is one call for
/// many.
const LEAST_NS: f64 = 1.0;

/// A row for each step with pages.
const ROW: i32 = 28;

/// The figures of a probe: `zero-probe-pages` and `zero-probe-blocks`.
pub(super) fn probe(run: &Run<ZeroRow>) -> Vec<Figure> {
    let all = run.results.iter();
    let of_pages: Vec<&ZeroRow> = all.filter(|m| m.page_step().is_some()).collect();
    let is_block = |m: &&ZeroRow| matches!(m.part(), Some(ZeroProbe::Blocks(_)));
    let of_blocks: Vec<&ZeroRow> = run.results.iter().filter(is_block).collect();
    let pages = pages(run, &of_pages);
    pages.into_iter().chain(blocks(run, &of_blocks)).collect()
}

/// CPU time of a page, a row for each step, a marker for ordinary and one for
/// huge pages.
fn pages(run: &Run<ZeroRow>, measurements: &[&ZeroRow]) -> Option<Figure> {
    let steps: Vec<Step> = measurements.iter().filter_map(|m| Step::of(m)).collect();
    if steps.is_empty() {
        return None;
    }
    let names = distinct(steps.iter().map(|step| step.name.clone()));
    let groups = ascending(steps.iter().map(|step| step.group));
    let rows = Rows::new(&names, ROW);
    let sheet = Sheet {
        title: "What a page of 4 KiB costs, by the step".to_owned(),
        caption: format!(
            "CPU time of the thread, where it is counted, for each 4 KiB; the median of n = {} rounds, and the line \
             the interval that holds it with 95 %, or all of fewer than 6 rounds. A first touch of ordinary pages \
             is a fault and zeroing, with huge pages nearly zeroing alone; touch-read is a fault without zeroing \
             on Linux. What is less than 1 ns is left out.",
            select::counts(steps.iter().map(|step| step.n))
        ),
        height: rows.height(),
    };
    let values = steps.iter().flat_map(|step| [step.ns.low, step.ns.high]);
    let x = Axis::log(
        "CPU time per page of 4 KiB",
        LEAST_NS,
        values,
        units::nominal,
    );
    let svg = sheet.draw(run, |canvas| {
        let (chart, place) = rows.chart(canvas, &x, LEGEND)?;
        let at = |step: &Step, ns| {
            let row = names.iter().position(|name| *name == step.name);
            rows.at(&chart, ns, row.unwrap_or(0))
        };
        // No line hides a marker.
        for step in &steps {
            let ends = [step.ns.low, step.ns.high].map(|ns| at(step, ns));
            let style = Look::nth(step.group).colour.stroke_width(2);
            svg::series(canvas, GROUPS[step.group].1, || {
                canvas.draw(&PathElement::new(ends.to_vec(), style))
            })?;
        }
        for step in &steps {
            let look = Look::nth(step.group);
            let words = units::duration(step.ns.median);
            svg::series(canvas, GROUPS[step.group].1, || {
                svg::valued(canvas, &words, || {
                    look.marker(canvas, at(step, step.ns.median))
                })
            })?;
        }
        let entries = groups
            .iter()
            .map(|&group| (GROUPS[group].1, Look::nth(group)));
        legend_of_marks(canvas, place, entries)
    });
    Some(figure("zero-probe-pages", svg))
}

const LEGEND: i32 = 150;

struct Step {
    name: String,
    /// Its place among [`GROUPS`].
    group: usize,
    ns: Interval,
    n: u64,
}

impl Step {
    fn of(m: &ZeroRow) -> Option<Self> {
        let step = m.page_step()?;
        let cost = &step.page_cost;
        let ns = cost.ns_per_page();
        let is_of = |(huge, _): &(Option<HugePages>, &str)| *huge == step.huge_pages;
        (ns.median >= LEAST_NS).then(|| Self {
            name: m.subject.clone(),
            group: GROUPS.iter().position(is_of).unwrap_or_default(),
            ns,
            n: cost.rounds.len() as u64,
        })
    }
}

/// The groups that distinguish steps of one name, in the order of their looks.
const GROUPS: [(Option<HugePages>, &str); 3] = [
    (Some(HugePages::Off), "ordinary"),
    (Some(HugePages::On), "huge pages"),
    (None, "reference"),
];

/// CPU time of a MiB by the size of a block, a line for each way to get it.
fn blocks(run: &Run<ZeroRow>, measurements: &[&ZeroRow]) -> Option<Figure> {
    // The calls alone would need an axis of their own.
    let filled = measurements.iter().copied();
    let filled = filled.filter(|m| m.subject != "allocator-pair");
    let ways: Vec<(&str, Vec<(f64, f64)>)> = select::grouped(filled, |m| m.subject.as_str())
        .into_iter()
        .map(|(way, of_way)| (way, of_way.iter().filter_map(|m| point(m)).collect()))
        .collect();
    let points = || ways.iter().flat_map(|(_, points)| points.iter().copied());
    points().next()?;
    let rounds = measurements.iter().filter_map(|m| m.page_cost());
    let caption = format!(
        "CPU time, where it is counted, to get a block, fill it and give it back, over its size; medians of n = \
         {} rounds. fresh: from the system each time. reused: filled again. allocator: as the allocator of the \
         program does. A MiB is 2^20 bytes.",
        select::counts(rounds.map(|cost| cost.rounds.len() as u64))
    );
    let x = Axis::log(
        "size of the block",
        1.0,
        points().map(|p| p.0),
        decimal_bytes,
    );
    let y = Axis::log_ns("CPU time per MiB", points().map(|p| p.1));
    let ways = ways.into_iter().enumerate();
    let plot = Plot {
        title: "What a MiB costs, by the size of the block".to_owned(),
        caption,
        x,
        y,
        series: ways
            .map(|(i, (way, points))| Series::new(way, Look::nth(i), points))
            .collect(),
    };
    Some(figure("zero-probe-blocks", plot.draw(run)))
}

/// The size of a block, and what a MiB of it costs.
fn point(m: &ZeroRow) -> Option<(f64, f64)> {
    let (bytes, cost) = m.memory_cost()?;
    let ns = cost.ns_per_page().median;
    (bytes > 0 && ns > 0.0).then_some((bytes as f64, ns * PAGES_PER_MIB))
}

/// A tick of a decimal axis: `10 kB`.
fn decimal_bytes(bytes: f64) -> String {
    let (name, unit) = match bytes {
        b if b < 1e3 => ("B", 1.0),
        b if b < 1e6 => ("kB", 1e3),
        b if b < 1e9 => ("MB", 1e6),
        _ => ("GB", 1e9),
    };
    format!("{} {name}", units::plain(bytes / unit))
}
