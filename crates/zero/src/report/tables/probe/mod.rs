//! What an OS takes for fresh memory.
//!
//! A table for each part of the probe, and last the one that the article on
//! hidden costs of allocation has, for this computer, which follows from them.

mod blocks;
mod costs;
mod pages;
mod payers;
mod processes;

use punctual_report::{prose, select, units};

use crate::report;
use crate::rows::{Account, PageCost, ZeroRow};

/// The tables of every part that was measured.
pub(crate) fn probe(measurements: &[&ZeroRow]) -> Vec<String> {
    let parts = select::grouped(measurements.iter().copied(), |m| report::word(m, "part"));
    let mut sections = Vec::new();
    for (part, of_part) in &parts {
        sections.extend(match *part {
            "warm-up" => warm_up(of_part).into_iter().collect(),
            "pages" => pages::tables(of_part),
            "blocks" => blocks::table(of_part).into_iter().collect(),
            "processes" => of_part.iter().filter_map(|m| processes::table(m)).collect(),
            "payers" => payers::table(measurements).into_iter().collect(),
            _ => Vec::new(),
        });
    }
    sections.extend(costs::table(measurements));
    sections
}

/// What the first touch of memory cost, in a sentence.
fn warm_up(measurements: &[&ZeroRow]) -> Option<String> {
    let costs = measurements.iter().filter_map(|m| {
        let cost = PageCost::in_measurement(m)?.ns_per_page().median;
        let pages = m.subject.replace('-', " ");
        Some(format!("{} with {pages}", units::duration(cost)))
    });
    let costs: Vec<String> = costs.collect();
    let bytes = report::values(measurements, "bytes");
    (!costs.is_empty()).then(|| {
        prose::paragraph(&format!(
            "zero probe, warm-up: before all else {} were touched once and given back, at a cost for each 4 KiB of {}.",
            units::bytes(bytes.first().copied().unwrap_or(0.0)),
            costs.join(", and of ")
        ))
    })
}

/// Pages of 4 KiB in 2^20 bytes.
const PAGES_PER_MIB: f64 = 256.0;

/// The cost of one subject of a part, with these words among its parameters.
fn find(measurements: &[&ZeroRow], subject: &str, words: &[(&str, &str)]) -> Option<PageCost> {
    let mut found = measurements.iter().filter(|m| {
        let fits = |(key, word): &(&str, &str)| report::word(m, key) == *word;
        m.subject == subject && words.iter().all(fits)
    });
    PageCost::in_measurement(found.next()?)
}

/// The account of one subject of `payers`.
fn account(measurements: &[&ZeroRow], subject: &str) -> Option<Account> {
    let mut found = measurements
        .iter()
        .filter(|m| report::word(m, "part") == "payers" && m.subject == subject);
    Account::in_measurement(found.next()?)
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
