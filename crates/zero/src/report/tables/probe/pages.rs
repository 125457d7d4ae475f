//! What each step with a page costs.

use punctual_report::tables::blank::{Marks, Why};
use punctual_report::tables::grid::Grid;
use punctual_report::units;

use super::{PAGES_PER_MIB, within};
use crate::report;
use crate::report::tables::why;
use crate::rows::{HugePages, PageCost, ZeroRow};

/// Ordinary pages, then huge ones, then what they can be compared with.
pub(super) fn tables(measurements: &[&ZeroRow]) -> Vec<String> {
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
    let groups = groups.map(|(huge, title)| (title, of_group(huge)));
    let groups: Vec<_> = groups
        .into_iter()
        .filter(|(_, of)| !of.is_empty())
        .collect();
    let last = groups.len().saturating_sub(1);
    let sections = groups.iter().enumerate().map(|(i, (title, group))| {
        let caption = if i == last { CAPTION } else { &[] };
        table(title, group, caption)
    });
    sections.collect()
}

const CAPTION: &[&str] = &[
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

fn table(title: &str, group: &[&ZeroRow], caption: &[&str]) -> String {
    let sizes = report::sizes(group);
    let of = match sizes[..] {
        [bytes] => format!(", {}", units::bytes(bytes as f64)),
        _ => String::new(),
    };
    let mut head = vec!["step"];
    head.extend((sizes.len() > 1).then_some("of"));
    head.extend([
        "wall\nper page",
        "CPU per page\n[95 %]",
        "in the\nsystem %",
        "faults\nper page",
        "CPU\nper MiB",
        "GB per\nCPU-s",
    ]);
    let mut grid = Grid::new(format!("zero probe, pages: {title}{of}"), &head);
    let mut marks = Marks::default();
    for m in group {
        let Some((bytes, cost)) = m.memory_cost() else {
            continue;
        };
        let mut row = vec![m.subject.clone()];
        row.extend((sizes.len() > 1).then(|| units::bytes(bytes as f64)));
        row.extend(cells(cost, is_zeroed(&m.subject), &mut marks));
        grid.row(row);
    }
    grid.section(caption, marks)
}

/// Whether somebody has to zero memory in this step. Reads of new pages need
/// not; where they do, it shows.
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

fn cells(cost: &PageCost, is_zeroed: bool, marks: &mut Marks) -> [String; 6] {
    let cpu = cost.cpu_ns_per_page;
    let share = super::system_share(cost).map(units::percent);
    let mib = cpu.map(|ns| units::duration(ns.median * PAGES_PER_MIB));
    let rate = cost.gb_per_cpu_s.map(|rate| units::ratio(rate.median));
    let rate = match is_zeroed {
        true => marks.of_cpu_time(cost.approximate, rate),
        false => marks.or_blank(None, why::NOTHING_ZEROED),
    };
    [
        units::duration(cost.wall_ns_per_page.median),
        marks.of_cpu_time(cost.approximate, cpu.map(within)),
        match cpu {
            Some(_) => marks.or_blank(share, why::FEW_TICKS),
            None => marks.or_blank(None, Why::NoCpuTime),
        },
        marks.or_blank(cost.faults_per_page.map(units::ratio), Why::NotCounted),
        marks.of_cpu_time(cost.approximate, mib),
        rate,
    ]
}
