//! The cost of fresh memory in this OS. Each part of the probe has a table. The last table is that
//! of the article on hidden costs of allocation, for this computer.

mod payers;

use punctual_record::Interval;
use punctual_report::tables::Section;
use punctual_report::tables::table::{Cell, Table, Why};
use punctual_report::{prose, select, units};

use crate::published::{CostItem, FIGURES};
use crate::report::tables::why;
use crate::report::{self, PAGES_PER_MIB, duration_within as within, find};
use crate::rows::{Account, HugePages, PAGE_BYTES, PageCost, Spent, ZeroProbe, ZeroRow};

pub(crate) fn probe(measurements: &[&ZeroRow]) -> Vec<Section> {
    let all = measurements.iter().copied();
    let parts = select::grouped(all, |m| m.part().map(std::mem::discriminant));
    let mut sections = Vec::new();
    for (_, of_part) in &parts {
        sections.extend(match of_part[0].part() {
            Some(ZeroProbe::WarmUp(_)) => warm_up(of_part).map(Section::from).into_iter().collect(),
            Some(ZeroProbe::Pages(_)) => steps(of_part),
            Some(ZeroProbe::Blocks(_)) => blocks(of_part).into_iter().collect(),
            Some(ZeroProbe::Processes(_)) => of_part
                .iter()
                .filter_map(|m| payers::processes(m))
                .collect(),
            // Beside what processes did.
            Some(ZeroProbe::Payers(_)) => payers::payers(measurements).into_iter().collect(),
            None => Vec::new(),
        });
    }
    sections.extend(costs(measurements));
    sections
}

/// The cost of the first touch of memory, in a sentence.
fn warm_up(measurements: &[&ZeroRow]) -> Option<String> {
    let costs = measurements.iter().filter_map(|m| {
        let cost = m.page_cost()?.ns_per_page().median;
        let pages = m.subject.replace('-', " ");
        Some(format!("{} with {pages}", units::duration(cost)))
    });
    let costs: Vec<String> = costs.collect();
    let bytes = report::sizes(measurements);
    (!costs.is_empty()).then(|| {
        prose::paragraph(&format!(
            "zero probe, warm-up: before all else {} were touched once and given back, at a cost for each 4 KiB of {}.",
            units::bytes(bytes.first().map_or(0.0, |bytes| *bytes as f64)),
            costs.join(", and of ")
        ))
    })
}

fn account<'r>(measurements: &[&'r ZeroRow], subject: &str) -> Option<&'r Account> {
    let mut of_subject = measurements.iter().filter(|m| m.subject == subject);
    of_subject.find_map(|m| match m.part()? {
        ZeroProbe::Payers(payers) => Some(&payers.account),
        _ => None,
    })
}

/// `~` before what is only approximate is explained by the marks; this is the
/// share of a cost that the system used on behalf of the thread.
fn system_share(cost: &PageCost) -> Option<f64> {
    let (user, system) = (cost.user_ns_per_page?, cost.system_ns_per_page?);
    let all = user + system;
    (all > 0.0).then(|| system / all)
}

/// Ordinary pages, then huge ones, then what they can be compared with.
fn steps(measurements: &[&ZeroRow]) -> Vec<Section> {
    let groups = [
        (Some(HugePages::Off), "ordinary pages"),
        (Some(HugePages::On), "huge pages where the system has them"),
        (None, "to compare with"),
    ];
    let of_group = |huge| -> Vec<&ZeroRow> {
        let all = measurements.iter().copied();
        all.filter(|m| m.page_step().is_some_and(|step| step.huge_pages == huge))
            .collect()
    };
    let mut groups = groups.map(|(huge, title)| (title, of_group(huge))).to_vec();
    groups.retain(|(_, of)| !of.is_empty());
    let last = groups.len().saturating_sub(1);
    let sections = groups.iter().enumerate().map(|(i, (title, group))| {
        let caption = if i == last { STEPS_IN_WORDS } else { &[] };
        table(title, group, caption)
    });
    sections.collect()
}

const STEPS_IN_WORDS: &[&str] = &[
    "A page is 4 KiB, whatever pages the system has; a MiB is 256 of them, a GB 1e9 bytes. CPU is the CPU time of \
     the thread that did it, of which so much was spent in the system, as its ticks found. Nobody tells apart \
     what a fault and its zeroing cost; these steps differ in one of them:",
    "touch: a write to each page, forward, backward or in random order: a fault, and zeroing. With huge pages one \
     fault brings 512 pages of x86-64, so that nearly all of it is zeroing. touch-read: a read of each page: a \
     fault, and on Linux no zeroing, as one page of zeros is shown for all. touch-again: a write to what is \
     there: no fault.",
    "populate: MADV_POPULATE_WRITE. dont-need: MADV_DONTNEED of what was touched. free: MADV_FREE or MEM_RESET of \
     the same. map: one call for all pages. memset: zeros in this process, page by page, over other words; hot: \
     in half of the second cache; cold: in as much memory as the steps; at once: in one call for all of it.",
];

fn table(title: &str, group: &[&ZeroRow], caption: &[&str]) -> Section {
    let sizes = report::sizes(group);
    let of = match sizes[..] {
        [bytes] => format!(", {}", units::bytes(bytes as f64)),
        _ => String::new(),
    };
    let steps = group.iter().filter_map(|m| {
        let (bytes, cost) = m.memory_cost()?;
        Some((m.subject.as_str(), bytes, cost))
    });
    let steps: Vec<(&str, u64, &PageCost)> = steps.collect();
    let median = |ns: Interval| units::duration(ns.median * PAGES_PER_MIB);
    Table::new(format!("zero probe, pages: {title}{of}"), &steps)
        .column("step", |(step, ..)| *step)
        .column("of", |(_, bytes, _)| units::bytes(*bytes as f64))
        .only_if(sizes.len() > 1)
        .column("wall\nper page", |(.., cost)| {
            units::duration(cost.wall_ns_per_page.median)
        })
        .column("CPU per page\n[95 %]", |(.., cost)| {
            Cell::of_cpu(cost.approximate, cost.cpu_ns_per_page.map(within))
        })
        .column("in the\nsystem %", |(.., cost)| {
            let why = cost.cpu_ns_per_page.map(|_| why::FEW_TICKS);
            let share = system_share(cost).filter(|_| why.is_some());
            Cell::or(share.map(units::percent), why.unwrap_or(Why::NO_CPU_TIME))
        })
        .column("faults\nper page", |(.., cost)| {
            cost.faults_per_page.map(units::ratio)
        })
        .blank(Why::NOT_COUNTED)
        .column("CPU\nper MiB", |(.., cost)| {
            Cell::of_cpu(cost.approximate, cost.cpu_ns_per_page.map(median))
        })
        .column("GB per\nCPU-s", |(step, _, cost)| {
            let rate = cost.gb_per_cpu_s.map(|rate| units::ratio(rate.median));
            match is_zeroed(step) {
                true => Cell::of_cpu(cost.approximate, rate),
                false => Cell::or(None, why::NOTHING_ZEROED),
            }
        })
        .captions(caption.iter().copied())
        .section()
}

/// Whether memory has to be zeroed in this step. Reads of new pages need no zeroing; where they
/// do, it shows.
fn is_zeroed(step: &str) -> bool {
    const NOT: [&str; 7] = [
        "map",
        "touch-again",
        "unmap",
        "touch-read",
        "dont-need",
        "free",
        "touch-after-free",
    ];
    !NOT.contains(&step)
}

/// The cost of blocks, a row for each size: fresh, used again, from the allocator, and the calls
/// alone.
fn blocks(measurements: &[&ZeroRow]) -> Option<Section> {
    let cost = |bytes: u64, way: &str| -> Option<&PageCost> {
        let mut costs = measurements.iter().filter(|m| m.subject == way);
        costs.find_map(|m| Some(m.memory_cost().filter(|(of, _)| *of == bytes)?.1))
    };
    let median = |cost: &PageCost| units::duration(per_mib(cost).median);
    let sizes = report::sizes(measurements);
    let table = Table::new(
        "zero probe, blocks: CPU time of a block that is filled, by its size",
        &sizes,
    )
    .column("block", |block| units::bytes(*block as f64))
    .column("fresh\nper MiB [95 %]", |block| {
        cost(*block, "fresh").map(|cost| within(per_mib(cost)))
    })
    .column("used again\nper MiB", |block| {
        cost(*block, "reused").map(median)
    })
    .column("fresh over\nused again [95 %]", |block| {
        let ratio = over(cost(*block, "fresh")?, cost(*block, "reused")?)?;
        Some(ratio.written(units::ratio))
    })
    .column("allocator\nper MiB", |block| {
        cost(*block, "allocator").map(median)
    })
    .column("its faults\nper page", |block| {
        let faults =
            |cost: &PageCost| Cell::or(cost.faults_per_page.map(units::ratio), Why::NOT_COUNTED);
        cost(*block, "allocator").map(faults)
    })
    .column("new and drop\nalone", |block| {
        let pages = *block as f64 / PAGE_BYTES as f64;
        let pair = cost(*block, "allocator-pair")?;
        Some(units::duration(pair.ns_per_page().median * pages))
    })
    .column("% of what\nit hides", |block| {
        let costs = ["reused", "allocator", "allocator-pair"].map(|way| cost(*block, way));
        shown(costs).map(units::percent)
    })
    .blank(why::NOTHING_HIDDEN)
    .caption(BLOCKS_IN_WORDS);
    (!sizes.is_empty()).then(|| table.section())
}

const BLOCKS_IN_WORDS: &str = "fresh: map, fill and unmap. used again: fill what was filled before. allocator: new, fill and drop, as Rust \
     programs do; where it has fewer faults than pages it had kept memory. new and drop alone: one pair, nothing \
     touched: all that a look at the calls shows; and how much that is of what the allocator's memory costs \
     beyond filling memory that is there. Costs are CPU time, or the time that \
     passed where that is not counted. An interval over fewer than 6 rounds, as large blocks have them, is the whole \
     range.";

fn per_mib(cost: &PageCost) -> Interval {
    cost.ns_per_page().scaled(PAGES_PER_MIB)
}

/// The extra cost of one over the other, round by round.
fn over(a: &PageCost, b: &PageCost) -> Option<Interval> {
    let ns = |spent: &Spent| spent.cpu_ns.unwrap_or(spent.wall_ns) as f64 / spent.pages as f64;
    let rounds = a.rounds.iter().zip(&b.rounds);
    let ratios: Vec<f64> = rounds.map(|(a, b)| ns(a) / ns(b)).collect();
    let finite = ratios.iter().all(|ratio| ratio.is_finite());
    Interval::of(&ratios).filter(|_| finite)
}

/// The calls alone, as a share of what memory of the allocator costs beyond filling what is
/// there. Nothing if that is not more than the calls.
fn shown([reused, allocator, pair]: [Option<&PageCost>; 3]) -> Option<f64> {
    let [reused, allocator, pair] =
        [reused?, allocator?, pair?].map(|cost| cost.ns_per_page().median);
    let hidden = allocator - reused;
    (hidden > pair).then(|| pair / hidden)
}

/// Faults, zeroing and unmapping, by the MiB and by the page; nothing if pages
/// were not measured.
fn costs(measurements: &[&ZeroRow]) -> Option<Section> {
    let ordinary = |subject| find(measurements, subject, Some(HugePages::Off));
    let touch = Charge::of(ordinary("touch-forward")?);
    let unmap = Charge::of(ordinary("unmap")?);
    let (ns, payer, how) = zeroing(measurements)?;
    let zeroing = Charge { ns, payer, ..touch };
    // Zeroing is in a first write, unless another process does it.
    let ns = touch.ns - if payer == PROCESS { ns } else { 0.0 };
    let fault = Charge { ns, ..touch };
    let sum = Charge {
        ns: fault.ns + zeroing.ns + unmap.ns,
        payer: PROCESS,
        system_share: None,
    };
    let pair = pair(measurements);
    let calls = pair.as_ref().map(|(_, calls)| calls);
    let rows = [
        ("new and drop alone", CostItem::Pair, calls),
        ("faults", CostItem::Faults, Some(&fault)),
        ("zeroing", CostItem::Zeroing, Some(&zeroing)),
        ("unmap", CostItem::Unmap, Some(&unmap)),
        ("sum of the last three", CostItem::Sum, Some(&sum)),
    ]
    .map(|(name, item, charge)| (name, ours(item, charge), published(item)));
    let read = ordinary("touch-read").map(|cost| units::duration(cost.ns_per_page().median));
    let read = read.map(|read| format!(" A fault that only reads (touch-read) takes {read}."));
    let block = pair.as_ref().map(|(bytes, _)| units::bytes(*bytes));
    let block = block.map(|of| format!(" new and drop alone: of a block of {of}, untouched."));
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
    .caption(format!(
        "{how}{} unmap: of pages that were written.{}",
        read.unwrap_or_default(),
        block.unwrap_or_default()
    ))
    .caption(format!(
        "The sum makes {} GB per CPU-s from end to end. Published: {}; its MB are taken as MiB, of 256 \
         pages. {}",
        // Bytes per nanosecond.
        units::ratio(PAGE_BYTES as f64 / sum.ns),
        FIGURES.hidden_costs.source,
        FIGURES.hidden_costs.doubt(),
    ));
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
    let published = FIGURES.hidden_costs.of(item);
    let us = units::ratio(published.us);
    let [per_mb, per_page] = match item {
        CostItem::Pair => [format!("{us} in all"), String::new()],
        _ => [us, format!("{:.2}", published.us / PAGES_PER_MIB)],
    };
    [per_mb, per_page, published.payer.clone()]
}

const PROCESS: &str = "this process";
const SYSTEM_PROCESS: &str = "the System process";

/// The cost of a page in CPU time, or in time where CPU time is not counted.
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

/// The best there is to tell zeroing by: what a page costs, who pays for it, and what it is.
fn zeroing(measurements: &[&ZeroRow]) -> Option<(f64, &'static str, &'static str)> {
    if let Some(ns) = payers::system_process_ns_per_page(measurements) {
        let how = "zeroing: the CPU time of the System process for each page of fresh memory (payers). faults: the \
                   first write to pages, forward; what the system zeroed in them is in it.";
        return Some((ns, SYSTEM_PROCESS, how));
    }
    let huge = find(measurements, "touch-forward", Some(HugePages::On));
    // Otherwise they were asked for and not given.
    let huge = huge.filter(|cost| cost.faults_per_page.is_some_and(|faults| faults < 0.1));
    let (cost, how) = match huge {
        Some(cost) => (
            cost,
            "zeroing: the first write with huge pages, for each 4 KiB. faults: the first write to ordinary \
             pages, forward, less zeroing.",
        ),
        None => (
            find(measurements, "memset-cold", None)?,
            "zeroing: memset-cold, in this process, as there are no huge pages to see it by: what it would \
             cost, not what it did. faults: the first write to pages, forward, less that.",
        ),
    };
    Some((cost.ns_per_page().median, PROCESS, how))
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
