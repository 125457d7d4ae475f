//! What a block of memory costs by its size.

use punctual_record::Interval;
use punctual_report::tables::blank::{Marks, Why};
use punctual_report::tables::grid::Grid;
use punctual_report::units;

use super::{PAGES_PER_MIB, find, within};
use crate::report;
use crate::report::tables::why;
use crate::rows::{PAGE_BYTES, PageCost, Spent, ZeroRow};

/// A row for each size: fresh, used again, and from the allocator.
pub(super) fn table(measurements: &[&ZeroRow]) -> Option<String> {
    let sizes = report::sizes(measurements);
    let head = [
        "block",
        "fresh\nper MiB [95 %]",
        "used again\nper MiB",
        "fresh over\nused again [95 %]",
        "allocator\nper MiB",
        "its faults\nper page",
        "new and drop\nalone",
        "% of what\nit hides",
    ];
    let mut grid = Grid::new(
        "zero probe, blocks: CPU time of a block that is filled, by its size",
        &head,
    );
    let mut marks = Marks::default();
    for &bytes in &sizes {
        let at: Vec<&ZeroRow> = measurements
            .iter()
            .copied()
            .filter(|m| m.memory_cost().is_some_and(|(of, _)| of == bytes))
            .collect();
        let mut row = vec![units::bytes(bytes as f64)];
        row.extend(cells(bytes as f64, &at, &mut marks));
        grid.row(row);
    }
    (!sizes.is_empty()).then(|| grid.section(CAPTION, marks))
}

const CAPTION: &[&str] = &[
    "fresh: map, fill and unmap. used again: fill what was filled before. allocator: new, fill and drop, as Rust \
     programs do; where it has fewer faults than pages it had kept memory. new and drop alone: one pair, nothing \
     touched: all that a look at the calls shows; and how much that is of what the allocator's memory costs \
     beyond filling memory that is there. Costs are CPU time, or the time that \
     passed where that is not counted. An interval over fewer than 6 rounds, as large blocks have them, is the whole \
     range.",
];

fn cells(bytes: f64, at: &[&ZeroRow], marks: &mut Marks) -> [String; 7] {
    let [fresh, reused, allocator, pair] =
        ["fresh", "reused", "allocator", "allocator-pair"].map(|subject| find(at, subject, None));
    let per_mib = |cost: Option<&PageCost>| cost.map(|cost| mib(cost.ns_per_page()));
    let pages = bytes / PAGE_BYTES as f64;
    let ratio = fresh.zip(reused);
    let ratio = ratio.and_then(|(fresh, reused)| over(fresh, reused));
    let faults = allocator.map(|cost| cost.faults_per_page);
    let seen = seen(reused, allocator, pair);
    [
        marks.or_blank(per_mib(fresh).map(within), Why::NotMeasured),
        marks.or_blank(
            per_mib(reused).map(|ns| units::duration(ns.median)),
            Why::NotMeasured,
        ),
        marks.or_blank(ratio.map(ratio_within), Why::NotMeasured),
        marks.or_blank(
            per_mib(allocator).map(|ns| units::duration(ns.median)),
            Why::NotMeasured,
        ),
        match faults {
            Some(faults) => marks.or_blank(faults.map(units::ratio), Why::NotCounted),
            None => marks.or_blank(None, Why::NotMeasured),
        },
        marks.or_blank(
            pair.map(|cost| units::duration(cost.ns_per_page().median * pages)),
            Why::NotMeasured,
        ),
        marks.or_blank(seen.map(units::percent), why::NOTHING_HIDDEN),
    ]
}

fn mib(ns: Interval) -> Interval {
    Interval {
        median: ns.median * PAGES_PER_MIB,
        low: ns.low * PAGES_PER_MIB,
        high: ns.high * PAGES_PER_MIB,
    }
}

/// What one costs over the other, round by round.
fn over(a: &PageCost, b: &PageCost) -> Option<Interval> {
    let ns = |spent: &Spent| spent.cpu_ns.unwrap_or(spent.wall_ns) as f64 / spent.pages as f64;
    let rounds = a.rounds.iter().zip(&b.rounds);
    let ratios: Vec<f64> = rounds.map(|(a, b)| ns(a) / ns(b)).collect();
    let finite = ratios.iter().all(|ratio| ratio.is_finite());
    Interval::of(&ratios).filter(|_| finite)
}

fn ratio_within(ratio: Interval) -> String {
    let [median, low, high] = [ratio.median, ratio.low, ratio.high].map(units::ratio);
    format!("{median} [{low}..{high}]")
}

/// The calls alone, as a share of what memory costs beyond filling what is
/// there. Nothing if that is not more than the calls.
fn seen(
    reused: Option<&PageCost>,
    allocator: Option<&PageCost>,
    pair: Option<&PageCost>,
) -> Option<f64> {
    let [reused, allocator, pair] = [reused?, allocator?, pair?].map(|c| c.ns_per_page().median);
    let hidden = allocator - reused;
    (hidden > pair).then(|| pair / hidden)
}
