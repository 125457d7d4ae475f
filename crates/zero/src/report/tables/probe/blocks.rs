//! What a block of memory costs by its size.

use punctual_record::Interval;
use punctual_report::tables::blank::Why;
use punctual_report::tables::table::{Cell, Table};
use punctual_report::units;

use super::{PAGES_PER_MIB, find, within};
use crate::report;
use crate::report::tables::why;
use crate::rows::{PAGE_BYTES, PageCost, Spent, ZeroRow};

/// What a block of one size costs: fresh, used again, from the allocator, and the calls
/// alone.
struct Block<'r> {
    bytes: f64,
    fresh: Option<&'r PageCost>,
    reused: Option<&'r PageCost>,
    allocator: Option<&'r PageCost>,
    pair: Option<&'r PageCost>,
}

/// A row for each size.
pub(super) fn table(measurements: &[&ZeroRow]) -> Option<String> {
    let block = |bytes| {
        let all = measurements.iter().copied();
        let at = all.filter(|m| m.memory_cost().is_some_and(|(of, _)| of == bytes));
        let at: Vec<&ZeroRow> = at.collect();
        Block {
            bytes: bytes as f64,
            fresh: find(&at, "fresh", None),
            reused: find(&at, "reused", None),
            allocator: find(&at, "allocator", None),
            pair: find(&at, "allocator-pair", None),
        }
    };
    let blocks: Vec<Block> = report::sizes(measurements).into_iter().map(block).collect();
    let table = Table::new(
        "zero probe, blocks: CPU time of a block that is filled, by its size",
        &blocks,
    )
    .column("block", |block| units::bytes(block.bytes))
    .column("fresh\nper MiB [95 %]", |block| {
        block.fresh.map(|cost| within(per_mib(cost)))
    })
    .column("used again\nper MiB", |block| {
        block
            .reused
            .map(|cost| units::duration(per_mib(cost).median))
    })
    .column("fresh over\nused again [95 %]", |block| {
        over(block.fresh?, block.reused?).map(ratio_within)
    })
    .column("allocator\nper MiB", |block| {
        block
            .allocator
            .map(|cost| units::duration(per_mib(cost).median))
    })
    .column("its faults\nper page", |block| {
        let faults =
            |cost: &PageCost| Cell::or(cost.faults_per_page.map(units::ratio), Why::NotCounted);
        block.allocator.map(faults)
    })
    .column("new and drop\nalone", |block| {
        let pages = block.bytes / PAGE_BYTES as f64;
        let ns = |cost: &PageCost| units::duration(cost.ns_per_page().median * pages);
        block.pair.map(ns)
    })
    .column("% of what\nit hides", |block| {
        block.shown().map(units::percent)
    })
    .blank(why::NOTHING_HIDDEN)
    .caption(CAPTION);
    (!blocks.is_empty()).then(|| table.section())
}

const CAPTION: &str = "fresh: map, fill and unmap. used again: fill what was filled before. allocator: new, fill and drop, as Rust \
     programs do; where it has fewer faults than pages it had kept memory. new and drop alone: one pair, nothing \
     touched: all that a look at the calls shows; and how much that is of what the allocator's memory costs \
     beyond filling memory that is there. Costs are CPU time, or the time that \
     passed where that is not counted. An interval over fewer than 6 rounds, as large blocks have them, is the whole \
     range.";

fn per_mib(cost: &PageCost) -> Interval {
    cost.ns_per_page().scaled(PAGES_PER_MIB)
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
    ratio.written(units::ratio)
}

impl Block<'_> {
    /// The calls alone, as a share of what memory costs beyond filling what is
    /// there. Nothing if that is not more than the calls.
    fn shown(&self) -> Option<f64> {
        let costs = [self.reused?, self.allocator?, self.pair?];
        let [reused, allocator, pair] = costs.map(|cost| cost.ns_per_page().median);
        let hidden = allocator - reused;
        (hidden > pair).then(|| pair / hidden)
    }
}
