//! All that is known of some cells.

use punctual_record::Interval;
use punctual_report::tables::blank::{Marks, Why};
use punctual_report::tables::grid::Grid;
use punctual_report::units;

use super::words;
use crate::report::tables::why;
use crate::report::{Cell, Section, sort_by_gb};
use crate::rows::Spread;

/// The cells of a large section from which one learns most: for each number of
/// threads the best and the worst, and of one page at a time all locks. Of many
/// numbers of threads, such as those of a simulated computer, these are the
/// least, the most, and the most that have a CPU each.
pub(super) fn chosen<'s, 'r>(section: &'s Section<'r>) -> Vec<&'s Cell<'r>> {
    let mut chosen: Vec<&Cell> = Vec::new();
    for threads in threads_told(section) {
        let mut of_threads: Vec<&Cell> = section.cells.iter().collect();
        of_threads.retain(|cell| cell.threads == threads);
        sort_by_gb(&mut of_threads);
        let ends = [of_threads.first(), of_threads.last()];
        let ends = ends.into_iter().flatten().copied();
        let one_page = of_threads.iter().copied().filter(|cell| cell.batch == "1");
        for cell in ends.chain(one_page) {
            if !chosen.iter().any(|known| std::ptr::eq(*known, cell)) {
                chosen.push(cell);
            }
        }
    }
    chosen
}

/// So many numbers of threads are told in full.
const THREADS: usize = 3;

fn threads_told(section: &Section) -> Vec<u64> {
    let all = section.threads();
    if all.len() <= THREADS {
        return all;
    }
    let with_a_cpu_each = section.ranked().iter().map(|cell| cell.threads).max();
    let mut told: Vec<u64> = [all.first().copied(), with_a_cpu_each, all.last().copied()]
        .into_iter()
        .flatten()
        .collect();
    told.dedup();
    told
}

/// By the number of threads, then from the best.
pub(super) fn sort(cells: &mut [&Cell]) {
    sort_by_gb(cells);
    cells.sort_by_key(|cell| cell.threads);
}

/// What they zero, against what they could, and against what was predicted.
pub(super) fn throughput(name: &str, section: &Section, cells: &[&Cell]) -> String {
    let predicted = cells.iter().any(|cell| cell.zeroing.predicted.is_some());
    let mut head = vec![
        "lock",
        "batch",
        "threads",
        "GB per CPU-s\n[interval]",
        "wall\nGB/s",
        "x ideal\nthread",
        "x without\nwaiting",
    ];
    if predicted {
        head.extend(["predicted\nGB per CPU-s", "error\n%"]);
    }
    let closed_form = cells.iter().any(|cell| cell.closed_form.is_some());
    if closed_form {
        head.push("closed\nform");
    }
    let arriving = cells.iter().any(|cell| cell.arriving.is_some());
    if arriving {
        head.extend(["CPUs\nbusy", "duty\n%", "keeps\nup"]);
    }
    let title = format!("{name}: GB zeroed");
    let mut grid = Grid::new(title, &head).with_names(2);
    let mut marks = Marks::default();
    for cell in cells {
        let best = if section.is_best(cell) { "> " } else { "" };
        let mut row = setting(section, cell);
        row.push(format!("{best}{}", within(cell.gb_per_cpu_s())));
        row.push(units::gb(cell.zeroing.wall_gb_per_s.median));
        let over_ideal = section.over_ideal(cell).map(units::ratio);
        row.push(marks.or_blank(over_ideal, why::NO_IDEAL));
        let over_no_waiting = cell.over_no_waiting().map(units::ratio);
        row.push(marks.or_blank(over_no_waiting, why::ONLY_WAITING));
        if predicted {
            let prediction = cell.zeroing.predicted.map(|p| p.gb_per_cpu_s);
            row.push(marks.or_blank(prediction.map(within), why::NOT_MODELLED));
            let measured = cell.gb_per_cpu_s().median;
            let error = prediction.map(|p| p.median / measured - 1.0);
            let error = error.filter(|error| error.is_finite()).map(signed_percent);
            row.push(marks.or_blank(error, why::NOT_MODELLED));
        }
        if closed_form {
            let gb = cell.closed_form.map(units::gb);
            row.push(marks.or_blank(gb, why::NO_CLOSED_FORM));
        }
        if let Some(arriving) = &cell.arriving {
            row.push(units::ratio(arriving.busy_cpus));
            row.push(units::percent(arriving.duty));
            row.push(if arriving.keeps_up { "yes" } else { "no" }.to_owned());
        }
        grid.row(row);
    }
    let mut caption = vec![words::rounds(section)];
    caption.extend(words::ideal(section));
    caption.extend(words::left_out(section, cells));
    grid.section(&caption, marks)
}

/// Where the CPU time went, and what the lock has to do with it.
pub(super) fn cpu_and_lock(name: &str, section: &Section, cells: &[&Cell]) -> String {
    let head = [
        "lock",
        "batch",
        "threads",
        "zeroing\n%",
        "hold\n%",
        "waiting\n%",
        "other\n%",
        "parked\n%",
        "wait\np50",
        "wait\np99",
        "hold\np50",
        "hold\np99",
        "takes",
    ];
    let title = format!("{name}: where the CPU time went, and the lock");
    let mut grid = Grid::new(title, &head).with_names(2);
    let mut marks = Marks::default();
    for cell in cells {
        let zeroing = &cell.zeroing;
        let cpu = &zeroing.cpu;
        let mut row = setting(section, cell);
        row.extend([cpu.zeroing, cpu.hold, cpu.waiting, cpu.other].map(percent));
        row.push(units::percent(zeroing.parked_share));
        for spread in [&zeroing.wait_ns, &zeroing.hold_ns] {
            for percentile in [spread.p50, spread.p99] {
                row.push(length(spread, percentile, &mut marks));
            }
        }
        row.push(format!("{:.0}", zeroing.acquisitions));
        grid.row(row);
    }
    grid.section(&[words::timed(section, cells)], marks)
}

/// The first columns.
fn setting(section: &Section, cell: &Cell) -> Vec<String> {
    vec![
        cell.lock.to_owned(),
        cell.batch.to_owned(),
        words::threads(section, cell.threads),
    ]
}

fn length(spread: &Spread, percentile: Option<u64>, marks: &mut Marks) -> String {
    let why = match spread.n {
        0 => why::NOT_TIMED,
        _ => Why::FewSamples,
    };
    marks.or_blank(percentile.map(|ns| units::duration(ns as f64)), why)
}

/// A median, with its interval where that is more than the median itself.
fn within(interval: Interval) -> String {
    let Interval { median, low, high } = interval;
    let [median, low, high] = [median, low, high].map(units::gb);
    if low == median && high == median {
        median
    } else {
        format!("{median} [{low}..{high}]")
    }
}

/// A share, of which rounding may have left a little less than nothing.
fn percent(share: f64) -> String {
    let is_none = share.abs() < 0.000_05;
    units::percent(if is_none { 0.0 } else { share })
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1}", share * 100.0)
}
