//! One number of every cell of a grid, and all that is known of some.

use punctual_record::Interval;
use punctual_report::tables::Passage;
use punctual_report::tables::WIDTH;
use punctual_report::tables::blank::Why;
use punctual_report::tables::table::{Cell as TableCell, Table};
use punctual_report::units;

use super::words;
use crate::report::tables::{signed_percent, why};
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

/// A table of cells, which begins with what they are.
fn table<'a>(
    title: String,
    section: &'a Section,
    cells: &'a [&Cell<'a>],
) -> Table<'a, &'a Cell<'a>> {
    Table::new(title, cells)
        .column("lock", |cell| cell.lock)
        .column("batch", |cell| cell.batch)
        .column("threads", |cell| words::threads(section, cell.threads))
        .names(2)
}

/// What they zero, against what they could, and against what was predicted.
pub(super) fn throughput(name: &str, section: &Section, cells: &[&Cell]) -> Passage {
    let predicted = |cell: &Cell| Some(cell.zeroing.predicted?.gb_per_cpu_s);
    let any_predicted = cells.iter().any(|cell| predicted(cell).is_some());
    let arriving = cells.iter().any(|cell| cell.arriving.is_some());
    table(format!("{name}: GB zeroed"), section, cells)
        .column("GB per CPU-s\n[interval]", |cell| {
            let best = if section.is_best(cell) { "> " } else { "" };
            format!("{best}{}", within(cell.gb_per_cpu_s()))
        })
        .column("wall\nGB/s", |cell| {
            units::gb(cell.zeroing.wall_gb_per_s.median)
        })
        .column("x ideal\nthread", |cell| {
            section.over_ideal(cell).map(units::ratio)
        })
        .blank(why::NO_IDEAL)
        .column("x without\nwaiting", |cell| {
            cell.over_no_waiting().map(units::ratio)
        })
        .blank(why::ONLY_WAITING)
        .column("predicted\nGB per CPU-s", |cell| {
            predicted(cell).map(within)
        })
        .blank(why::NOT_MODELLED)
        .only_if(any_predicted)
        .column("error\n%", |cell| {
            let error = predicted(cell)?.median / cell.gb_per_cpu_s().median - 1.0;
            error.is_finite().then(|| signed_percent(error))
        })
        .blank(why::NOT_MODELLED)
        .only_if(any_predicted)
        .column("closed\nform", |cell| cell.closed_form.map(units::gb))
        .blank(why::NO_CLOSED_FORM)
        .if_known()
        .column("CPUs\nbusy", |cell| {
            Some(units::ratio(cell.arriving.as_ref()?.busy_cpus))
        })
        .only_if(arriving)
        .column("duty\n%", |cell| {
            Some(units::percent(cell.arriving.as_ref()?.duty))
        })
        .only_if(arriving)
        .column("keeps\nup", |cell| {
            Some(if cell.arriving.as_ref()?.keeps_up {
                "yes"
            } else {
                "no"
            })
        })
        .only_if(arriving)
        .caption(words::rounds(section))
        .captions(words::ideal(section))
        .captions(words::left_out(section, cells))
        .section()
}

/// Where the CPU time went, and what the lock has to do with it.
pub(super) fn cpu_and_lock(name: &str, section: &Section, cells: &[&Cell]) -> Passage {
    let title = format!("{name}: where the CPU time went, and the lock");
    table(title, section, cells)
        .column("zeroing\n%", |cell| percent(cell.zeroing.cpu.zeroing))
        .column("hold\n%", |cell| percent(cell.zeroing.cpu.hold))
        .column("waiting\n%", |cell| percent(cell.zeroing.cpu.waiting))
        .column("other\n%", |cell| percent(cell.zeroing.cpu.other))
        .column("parked\n%", |cell| {
            units::percent(cell.zeroing.parked_share)
        })
        .column("wait\np50", |cell| {
            length(&cell.zeroing.wait_ns, |of| of.p50)
        })
        .column("wait\np99", |cell| {
            length(&cell.zeroing.wait_ns, |of| of.p99)
        })
        .column("hold\np50", |cell| {
            length(&cell.zeroing.hold_ns, |of| of.p50)
        })
        .column("hold\np99", |cell| {
            length(&cell.zeroing.hold_ns, |of| of.p99)
        })
        .column("takes", |cell| format!("{:.0}", cell.zeroing.acquisitions))
        .caption(words::timed(section, cells))
        .section()
}

fn length(spread: &Spread, percentile: fn(&Spread) -> Option<u64>) -> TableCell {
    let why = match spread.n {
        0 => why::NOT_TIMED,
        _ => Why::FewSamples,
    };
    TableCell::or(percentile(spread).map(|ns| units::duration(ns as f64)), why)
}

/// A median, with its interval where that is more than the median itself.
fn within(interval: Interval) -> String {
    let Interval { median, low, high } = interval;
    let [median, low, high] = [median, low, high].map(units::gb);
    match low == median && high == median {
        true => median,
        false => interval.written(units::gb),
    }
}

/// A share, of which rounding may have left a little less than nothing.
fn percent(share: f64) -> String {
    let is_none = share.abs() < 0.000_05;
    units::percent(if is_none { 0.0 } else { share })
}

/// Locks by batch, for each number of threads; in as many tables as it takes.
pub(super) fn matrix(name: &str, section: &Section) -> Vec<Passage> {
    let batches = section.batches();
    let panels = |each: usize| -> Vec<Panel> {
        let chunks = batches.chunks(each);
        chunks.map(|batches| Panel::of(section, batches)).collect()
    };
    let mut each = batches.len();
    let fits = |panel: &Panel| panel.table(name, section).width() <= WIDTH;
    while each > 1 && !panels(each).iter().all(fits) {
        each = each.div_ceil(2);
    }
    let panels = panels(each);
    let mut tables: Vec<_> = panels
        .iter()
        .map(|panel| panel.table(name, section))
        .collect();
    let last = tables.pop().map(|table| {
        table
            .caption(words::medians(section))
            .captions(words::summary(section))
    });
    tables.into_iter().chain(last).map(Table::section).collect()
}

/// Some of the batches, and the pools that have them.
struct Panel<'s> {
    batches: &'s [&'s str],
    rows: Vec<Row<'s>>,
}

/// The pools of a lock with so many threads, and how these are told: once for all its
/// locks.
struct Row<'s> {
    threads: u64,
    told: String,
    lock: &'s str,
}

impl<'s> Panel<'s> {
    fn of(section: &Section<'s>, batches: &'s [&'s str]) -> Self {
        let mut rows = Vec::new();
        for threads in section.threads() {
            let mut told = words::threads(section, threads);
            for lock in section.locks() {
                let mut of_lock = batches
                    .iter()
                    .map(|batch| section.cell(lock, batch, threads));
                if of_lock.any(|cell| cell.is_some()) {
                    rows.push(Row {
                        threads,
                        told: std::mem::take(&mut told),
                        lock,
                    });
                }
            }
        }
        Self { batches, rows }
    }

    fn table<'t>(&'t self, name: &str, section: &'t Section) -> Table<'t, Row<'s>> {
        let title = format!("{name}: GB per CPU-s by batch");
        let heads = self.batches.iter().map(|batch| (broken(batch), *batch));
        Table::new(title, &self.rows)
            .column("threads", |row| row.told.clone())
            .column("lock", |row| row.lock)
            .names(2)
            .each(heads, |row, batch| {
                let cell = section.cell(row.lock, batch, row.threads)?;
                let gb = units::gb(cell.gb_per_cpu_s().median);
                let mark = if section.is_best(cell) { "> " } else { "" };
                Some(format!("{mark}{gb}"))
            })
    }
}

/// `guided:share=1+floor=1` would make its column as wide as three.
fn broken(batch: &str) -> String {
    batch.replace(':', ":\n").replace('+', "\n+")
}
