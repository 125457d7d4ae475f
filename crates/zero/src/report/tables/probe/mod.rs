//! What an OS takes for fresh memory.
//!
//! A table for each part of the probe, and last the one that the article on
//! hidden costs of allocation has, for this computer, which follows from them.

mod costs;
mod pages;
mod payers;

use punctual_report::tables::Passage;
use punctual_report::{prose, select, units};

use crate::report;
use crate::rows::{Account, HugePages, PageCost, ZeroProbe, ZeroRow};

/// The tables of every part that was measured.
pub(crate) fn probe(measurements: &[&ZeroRow]) -> Vec<Passage> {
    let all = measurements.iter().copied();
    let parts = select::grouped(all, |m| m.part().map(std::mem::discriminant));
    let mut sections = Vec::new();
    for (_, of_part) in &parts {
        sections.extend(match of_part[0].part() {
            Some(ZeroProbe::WarmUp(_)) => warm_up(of_part).map(Passage::from).into_iter().collect(),
            Some(ZeroProbe::Pages(_)) => pages::steps(of_part),
            Some(ZeroProbe::Blocks(_)) => pages::blocks(of_part).into_iter().collect(),
            Some(ZeroProbe::Processes(_)) => of_part
                .iter()
                .filter_map(|m| payers::processes(m))
                .collect(),
            // Beside what processes did.
            Some(ZeroProbe::Payers(_)) => payers::payers(measurements).into_iter().collect(),
            None => Vec::new(),
        });
    }
    sections.extend(costs::table(measurements));
    sections
}

/// What the first touch of memory cost, in a sentence.
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

/// Pages of 4 KiB in 2^20 bytes.
const PAGES_PER_MIB: f64 = 256.0;

/// The cost of one subject of a part, with or without huge pages where that was asked.
fn find<'r>(
    measurements: &[&'r ZeroRow],
    subject: &str,
    huge_pages: Option<HugePages>,
) -> Option<&'r PageCost> {
    let mut found = measurements.iter().filter(|m| {
        let huge = m.page_step().and_then(|step| step.huge_pages);
        m.subject == subject && (huge_pages.is_none() || huge == huge_pages)
    });
    found.next()?.page_cost()
}

/// The account of one subject of `payers`.
fn account<'r>(measurements: &[&'r ZeroRow], subject: &str) -> Option<&'r Account> {
    let mut of_payers = measurements.iter().filter_map(|m| match m.part()? {
        ZeroProbe::Payers(payers) => Some((&m.subject, &payers.account)),
        _ => None,
    });
    Some(of_payers.find(|(of, _)| *of == subject)?.1)
}

/// With its interval, in one unit.
fn within(ns: punctual_record::Interval) -> String {
    units::duration_within(ns.median, ns.low, ns.high)
}

/// `~` before what is only approximate is explained by the marks; this is the
/// share of a cost that the system used on behalf of the thread.
fn system_share(cost: &PageCost) -> Option<f64> {
    let (user, system) = (cost.user_ns_per_page?, cost.system_ns_per_page?);
    let all = user + system;
    (all > 0.0).then(|| system / all)
}
