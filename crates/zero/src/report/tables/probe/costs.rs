//! The table of the article on hidden costs of allocation, for this computer.

use punctual_report::tables::Passage;
use punctual_report::tables::table::Why;
use punctual_report::tables::table::{Cell, Table};
use punctual_report::units;

use super::{payers, system_share};
use crate::published::{CostItem, HIDDEN_COSTS_DOUBT, HIDDEN_COSTS_SOURCE, HiddenCost};
use crate::report::tables::why;
use crate::report::{PAGES_PER_MIB, find};
use crate::rows::{HugePages, PAGE_BYTES, PageCost, ZeroRow};

/// Faults, zeroing and unmapping, by the MiB and by the page; nothing if pages
/// were not measured.
pub(super) fn table(measurements: &[&ZeroRow]) -> Option<Passage> {
    let costs = Costs::of(measurements)?;
    let pair = costs.pair.as_ref().map(|(_, pair)| pair);
    let rows = [
        ("new and drop alone", CostItem::Pair, pair),
        ("faults", CostItem::Faults, Some(&costs.fault)),
        ("zeroing", CostItem::Zeroing, Some(&costs.zeroing)),
        ("unmap", CostItem::Unmap, Some(&costs.unmap)),
        ("sum of the last three", CostItem::Sum, Some(&costs.sum())),
    ]
    .map(|(name, item, charge)| (name, ours(item, charge), published(item)));
    let table = Table::new(
        "zero probe: what fresh memory costs, and who pays, beside Windows in 2014",
        &rows,
    )
    .column("part", |(name, ..)| *name)
    .column("us\nper MiB", |(_, ours, _)| ours[0].clone())
    .column("us\nper page", |(_, ours, _)| ours[1].clone())
    .column("charged to", |(_, ours, _)| ours[2].clone())
    .column("in the\nsystem %", |(_, ours, _)| ours[3].clone())
    .column("published:\nus per MB", |(.., published)| {
        published[0].clone()
    })
    .column("us\nper page", |(.., published)| published[1].clone())
    .column("charged to", |(.., published)| published[2].clone())
    .captions(costs.caption());
    Some(table.section())
}

fn ours(item: CostItem, charge: Option<&Charge>) -> [Cell; 4] {
    let empty = || Cell::from("");
    let Some(charge) = charge else {
        return [Cell::or(None, Why::NOT_MEASURED), empty(), empty(), empty()];
    };
    let us = |ns: f64| units::ratio(ns / 1e3);
    let [per_mib, per_page] = match item {
        CostItem::Pair => [format!("{} in all", us(charge.ns)).into(), empty()],
        _ if charge.ns < 0.0 => [Cell::or(None, why::LESS_THAN_NOTHING), empty()],
        _ => [us(charge.ns * PAGES_PER_MIB), us(charge.ns)].map(Cell::from),
    };
    let [payer, system_share] = match item {
        CostItem::Sum => [empty(), empty()],
        _ if charge.payer == PROCESS => {
            let share = charge.system_share.map(units::percent);
            [PROCESS.into(), Cell::or(share, why::FEW_TICKS)]
        }
        _ => [charge.payer.into(), empty()],
    };
    [per_mib, per_page, payer, system_share]
}

fn published(item: CostItem) -> [String; 3] {
    let published = HiddenCost::of(item);
    let us = units::ratio(published.us);
    [
        match item {
            CostItem::Pair => format!("{us} in all"),
            _ => us,
        },
        published
            .us_per_page()
            .map_or_else(String::new, |us| format!("{us:.2}")),
        published.payer.to_owned(),
    ]
}

const PROCESS: &str = "this process";
const SYSTEM_PROCESS: &str = "the System process";

struct Charge {
    ns: f64,
    payer: &'static str,
    system_share: Option<f64>,
}

impl Charge {
    /// Of a step, which is timed on the thread that makes it.
    fn of(cost: &PageCost) -> Self {
        Self {
            ns: cost.ns_per_page().median,
            payer: PROCESS,
            system_share: system_share(cost),
        }
    }
}

/// What pages cost in CPU time, or in time where that is not counted.
struct Costs {
    /// The size of a block, and what new and drop of it cost.
    pair: Option<(f64, Charge)>,
    fault: Charge,
    zeroing: Charge,
    unmap: Charge,
    /// Faults without zeroing, as reading alone shows them.
    read_ns: Option<f64>,
    from: Zeroing,
}

enum Zeroing {
    HugePages,
    SystemProcess,
    Memset,
}

impl Costs {
    fn of(measurements: &[&ZeroRow]) -> Option<Self> {
        let ordinary = |subject| find(measurements, subject, Some(HugePages::Off));
        let touch = Charge::of(ordinary("touch-forward")?);
        let unmap = Charge::of(ordinary("unmap")?);
        let (from, zeroing_ns) = zeroing(measurements)?;
        let apart = matches!(from, Zeroing::SystemProcess);
        // Zeroing is in a first write, unless somebody else does it.
        let fault_ns = touch.ns - if apart { 0.0 } else { zeroing_ns };
        Some(Self {
            pair: pair(measurements),
            zeroing: Charge {
                ns: zeroing_ns,
                payer: if apart { SYSTEM_PROCESS } else { PROCESS },
                ..touch
            },
            fault: Charge {
                ns: fault_ns,
                ..touch
            },
            unmap,
            read_ns: ordinary("touch-read").map(|cost| cost.ns_per_page().median),
            from,
        })
    }

    fn sum(&self) -> Charge {
        Charge {
            ns: self.fault.ns + self.zeroing.ns + self.unmap.ns,
            payer: PROCESS,
            system_share: None,
        }
    }

    fn caption(&self) -> Vec<String> {
        let zeroing = match self.from {
            Zeroing::HugePages => {
                "zeroing: the first write with huge pages, for each 4 KiB. faults: the first write to ordinary \
                 pages, forward, less zeroing."
            }
            Zeroing::SystemProcess => {
                "zeroing: the CPU time of the System process for each page of fresh memory (payers). faults: the \
                 first write to pages, forward; what the system zeroed in them is in it."
            }
            Zeroing::Memset => {
                "zeroing: memset-cold, in this process, as there are no huge pages to see it by: what it would \
                 cost, not what it did. faults: the first write to pages, forward, less that."
            }
        };
        let read = self.read_ns.map_or_else(String::new, |read| {
            format!(
                " A fault that only reads (touch-read) takes {}.",
                units::duration(read)
            )
        });
        let pair = self.pair.as_ref().map_or_else(String::new, |(bytes, _)| {
            format!(
                " new and drop alone: of a block of {}, untouched.",
                units::bytes(*bytes)
            )
        });
        vec![
            format!("{zeroing}{read} unmap: of pages that were written.{pair}"),
            format!(
                "The sum makes {} GB per CPU-s from end to end. Published: {HIDDEN_COSTS_SOURCE}; its MB are taken as \
                 MiB, of 256 pages. {HIDDEN_COSTS_DOUBT}",
                // Bytes per nanosecond.
                units::ratio(PAGE_BYTES as f64 / self.sum().ns)
            ),
        ]
    }
}

/// The best there is to tell zeroing by, and what it costs.
fn zeroing(measurements: &[&ZeroRow]) -> Option<(Zeroing, f64)> {
    if let Some(ns) = payers::system_process_ns_per_page(measurements) {
        return Some((Zeroing::SystemProcess, ns));
    }
    let huge = find(measurements, "touch-forward", Some(HugePages::On));
    // Otherwise they were asked for and not given.
    let huge = huge.filter(|cost| cost.faults_per_page.is_some_and(|faults| faults < 0.1));
    if let Some(cost) = huge {
        return Some((Zeroing::HugePages, cost.ns_per_page().median));
    }
    let memset = find(measurements, "memset-cold", None)?;
    Some((Zeroing::Memset, memset.ns_per_page().median))
}

/// A pair of calls for the largest block of those that the article looked at: of
/// 8 to 32 MB.
fn pair(measurements: &[&ZeroRow]) -> Option<(f64, Charge)> {
    let pairs = measurements
        .iter()
        .filter(|m| m.subject == "allocator-pair");
    let mut pairs = pairs.filter_map(|m| {
        let (bytes, cost) = m.memory_cost()?;
        let bytes = Some(bytes as f64).filter(|bytes| (8e6..=34e6).contains(bytes))?;
        let charge = Charge::of(cost);
        let ns = charge.ns * bytes / PAGE_BYTES as f64;
        Some((bytes, Charge { ns, ..charge }))
    });
    pairs.next_back()
}
