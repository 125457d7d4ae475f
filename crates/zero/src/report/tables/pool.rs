//! Pools of workers that zero pages: what they zero per second of CPU time, and
//! where that time goes.
//!
//! A grid of locks, batches and threads has hundreds of cells. First comes a matrix with one
//! number per cell. Then come the instructive cells: the best, the worst and those that take one
//! page at a time. The numbers are explained once, below all of them.

use punctual_record::Interval;
use punctual_report::tables::table::Why;
use punctual_report::tables::table::{Cell as TableCell, Table};
use punctual_report::tables::{Section, interval_in_words};
use punctual_report::{prose, select, units};

use crate::distinct;
use crate::report;
use crate::report::tables::why;
use crate::report::{Cell, PoolGroup, sort_by_gb};
use crate::rows::{Spread, ZeroRow};

/// The number of cells that are shown in full; a group with more has a matrix above the chosen
/// ones.
const TOLD: usize = 12;

/// The groups of every kind of memory, kernel, way to dequeue, arrivals and
/// computer.
pub(crate) fn pool(measurements: &[&ZeroRow]) -> Vec<Section> {
    let groups = report::groups(measurements);
    let mut text: Vec<Section> = groups
        .iter()
        .flat_map(|group| of_group(group, &groups))
        .collect();
    if !groups.is_empty() {
        text.push(column_words(&groups).into());
    }
    text
}

fn of_group(group: &PoolGroup, groups: &[PoolGroup]) -> Vec<Section> {
    let named = |words: String| match words.as_str() {
        "" => "zero-pool".to_owned(),
        words => format!("zero-pool, {words}"),
    };
    // The first table tells all, the others what is needed to tell groups apart.
    let (mut name, short) = (named(group.in_words()), named(group.among(groups)));
    let mut text: Vec<Section> = Vec::new();
    let mut told: Vec<&Cell> = group.cells.iter().collect();
    if told.len() > TOLD {
        text.extend(matrix(&name, group));
        told = chosen(group);
        name.clone_from(&short);
    }
    sort(&mut told);
    text.push(throughput(&name, group, &told));
    text.push(cpu_and_lock(&short, group, &told));
    text
}

/// The most instructive cells of a large group. For each number of threads they are the best and
/// the worst, and all locks with one page at a time. A simulated computer can have many numbers of
/// threads. Then only the least, the most, and the most that have a CPU each are used.
fn chosen<'s, 'r>(group: &'s PoolGroup<'r>) -> Vec<&'s Cell<'r>> {
    let mut chosen: Vec<&Cell> = Vec::new();
    for threads in threads_told(group) {
        let mut of_threads: Vec<&Cell> = group.cells.iter().collect();
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

/// The numbers of threads that are shown in full.
const THREADS: usize = 3;

fn threads_told(group: &PoolGroup) -> Vec<u64> {
    let all = group.threads();
    if all.len() <= THREADS {
        return all;
    }
    let with_a_cpu_each = group.ranked().iter().map(|cell| cell.threads).max();
    let told = [all.first().copied(), with_a_cpu_each, all.last().copied()];
    distinct(told.into_iter().flatten())
}

/// By the number of threads, then from the best.
fn sort(cells: &mut [&Cell]) {
    sort_by_gb(cells);
    cells.sort_by_key(|cell| cell.threads);
}

/// A table of cells, which begins with what they are.
fn table<'a>(
    title: String,
    group: &'a PoolGroup,
    cells: &'a [&Cell<'a>],
) -> Table<'a, &'a Cell<'a>> {
    Table::new(title, cells)
        .column("lock", |cell| {
            report::lock_in_words(cell.lock, cell.is_not_validated())
        })
        .column("batch", |cell| cell.batch)
        .column("threads", |cell| marked(group, cell.threads))
        .names(2)
}

/// The rates, beside the possible ones.
fn throughput(name: &str, group: &PoolGroup, cells: &[&Cell]) -> Section {
    let arriving = cells.iter().any(|cell| cell.simulated.duty.is_some());
    table(format!("{name}: GB zeroed"), group, cells)
        .column("GB per CPU-s\n[interval]", |cell| {
            let best = if group.is_best(cell) { "> " } else { "" };
            format!("{best}{}", within(cell.gb_per_cpu_s()))
        })
        .column("wall\nGB/s", |cell| {
            units::gb(cell.zeroing.wall_gb_per_s.median)
        })
        .column("x ideal\nthread", |cell| {
            group.over_ideal(cell).map(units::ratio)
        })
        .blank(why::NO_IDEAL)
        .column("x without\nwaiting", |cell| {
            cell.over_no_waiting().map(units::ratio)
        })
        .blank(why::ONLY_WAITING)
        .column("closed\nform", |cell| {
            cell.simulated.chain_gb_per_cpu_s.map(units::gb)
        })
        .blank(why::NO_CLOSED_FORM)
        .if_known()
        .column("CPUs\nbusy", |cell| {
            cell.simulated.busy_cpus.map(units::ratio)
        })
        .only_if(arriving)
        .column("duty\n%", |cell| cell.simulated.duty.map(units::percent))
        .only_if(arriving)
        .column("keeps\nup", |cell| {
            let keeps_up = cell.simulated.keeps_up;
            keeps_up.map(|keeps_up| if keeps_up { "yes" } else { "no" })
        })
        .only_if(arriving)
        .caption(rounds(group))
        .captions(simulated_pages(group))
        .captions(states(cells))
        .captions(ideal(group))
        .captions(left_out(group, cells))
        .section()
}

/// Where the CPU time went, and what the lock has to do with it.
fn cpu_and_lock(name: &str, group: &PoolGroup, cells: &[&Cell]) -> Section {
    let title = format!("{name}: where the CPU time went, and the lock");
    table(title, group, cells)
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
        .caption(timed(group, cells))
        .section()
}

fn length(spread: &Spread, percentile: fn(&Spread) -> Option<u64>) -> TableCell {
    let why = match spread.n {
        0 => why::NOT_TIMED,
        _ => Why::FEW_SAMPLES,
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
fn matrix(name: &str, group: &PoolGroup) -> Vec<Section> {
    let batches = group.batches();
    let panels = |each: usize| -> Vec<Panel> {
        let chunks = batches.chunks(each);
        chunks.map(|batches| Panel::of(group, batches)).collect()
    };
    let mut each = batches.len();
    let fits = |panel: &Panel| panel.table(name, group).width() <= punctual_report::tables::width();
    while each > 1 && !panels(each).iter().all(fits) {
        each = each.div_ceil(2);
    }
    let panels = panels(each);
    let mut tables: Vec<_> = panels
        .iter()
        .map(|panel| panel.table(name, group))
        .collect();
    let last = tables
        .pop()
        .map(|table| table.caption(medians(group)).captions(summary(group)));
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
    not_validated: bool,
}

impl<'s> Panel<'s> {
    fn of(group: &PoolGroup<'s>, batches: &'s [&'s str]) -> Self {
        let mut rows = Vec::new();
        for threads in group.threads() {
            let mut told = marked(group, threads);
            for lock in group.locks() {
                let mut of_lock = batches
                    .iter()
                    .filter_map(|batch| group.cell(lock, batch, threads));
                if let Some(cell) = of_lock.next() {
                    rows.push(Row {
                        not_validated: cell.is_not_validated(),
                        threads,
                        told: std::mem::take(&mut told),
                        lock,
                    });
                }
            }
        }
        Self { batches, rows }
    }

    fn table<'t>(&'t self, name: &str, group: &'t PoolGroup) -> Table<'t, Row<'s>> {
        let title = format!("{name}: GB per CPU-s by batch");
        let heads = self.batches.iter().map(|batch| (broken(batch), *batch));
        Table::new(title, &self.rows)
            .column("threads", |row| row.told.clone())
            .column("lock", |row| {
                report::lock_in_words(row.lock, row.not_validated)
            })
            .names(2)
            .each(heads, |row, batch| {
                let cell = group.cell(row.lock, batch, row.threads)?;
                let gb = units::gb(cell.gb_per_cpu_s().median);
                let mark = if group.is_best(cell) { "> " } else { "" };
                Some(format!("{mark}{gb}"))
            })
    }
}

/// `guided:share=1+floor=1` would make its column as wide as three.
fn broken(batch: &str) -> String {
    batch.replace(':', ":\n").replace('+', "\n+")
}

/// Explanations of the columns of all groups, once for all of them.
fn column_words(groups: &[PoolGroup]) -> String {
    let cells = || groups.iter().flat_map(|group| &group.cells);
    let mut words = vec![HEADLINE, BATCH, RATIOS];
    if cells().any(|cell| cell.simulated.chain_gb_per_cpu_s.is_some()) {
        words.push(CLOSED_FORM);
    }
    if cells().any(|cell| cell.simulated.duty.is_some()) {
        words.push(ARRIVING);
    }
    words.extend([CPU, LOCK, BEST]);
    if cells().any(Cell::is_not_validated) {
        words.push(report::NOT_VALIDATED);
    }
    if cells().any(Cell::is_oversubscribed) {
        words.push(OVERSUBSCRIBED);
    }
    let words = words.into_iter();
    let words: String = words.map(|words| prose::indented("  ", words)).collect();
    format!("What the columns of zero-pool are\n{words}")
}

const HEADLINE: &str = "GB per CPU-s: GB (1e9 bytes) zeroed per second of the CPU time that all workers used \
    together. wall: per second that passed.";

const BATCH: &str = "batch: the pages of 4096 bytes that a worker takes at a time; n: as many as there are workers.";

const RATIOS: &str = "x ideal thread: the CPU time of a GB over that of one ideal thread, the best of one thread with \
    the same memory, whatever the kernel. x without waiting: over that of the same pool without waiting, \
    1 / (1 - waiting).";

const CLOSED_FORM: &str = "closed form: GB per CPU-s after the birth-death chain of Boyd-Wickizer and others (2012), fed \
    with the same figures.";

const ARRIVING: &str = "CPUs busy: on average, of bursts and the time between them. duty: the share of time in which there \
    is a burst. keeps up: whether all that arrives gets zeroed.";

const CPU: &str = "zeroing, hold, waiting, other: shares of the CPU time. hold: holding the lock. waiting: for the \
    lock, spinning or on the way to be parked. parked: the share of the workers' time that they were off the CPU.";

const LOCK: &str = "takes: how often pages were taken, those that found none included. wait, hold: of single takes.";

const BEST: &str = "`>`: the most of its section, or an interval that reaches it.";

const OVERSUBSCRIBED: &str = "`*`: more threads than CPUs, which measures the scheduler: ticket and mcs hand the lock \
    over to a worker who may not be on a CPU, and all wait for it. With a CPU for each thread that does not happen. \
    Such pools are never the best or the worst.";

/// A number of threads, with the mark of too many.
fn marked(group: &PoolGroup, threads: u64) -> String {
    let mut of_threads = group.cells.iter().filter(|c| c.threads == threads);
    match of_threads.any(Cell::is_oversubscribed) {
        true => format!("{threads}*"),
        false => threads.to_string(),
    }
}

fn rounds(group: &PoolGroup) -> String {
    let rounds = || group.cells.iter().map(|cell| cell.zeroing.rounds.len());
    if group.cells.iter().any(Cell::has_a_models_interval) {
        return "One pass each, simulated [what would come out if one of the figures that are not known of the computer \
            were at an end of its interval]."
            .to_owned();
    }
    if rounds().all(|n| n <= 1) {
        return "One pass each, so there are no intervals.".to_owned();
    }
    interval_in_words(rounds(), "")
}

/// How much of a backlog was simulated.
fn simulated_pages(group: &PoolGroup) -> Option<String> {
    let pages = group
        .cells
        .iter()
        .filter_map(|cell| Some((cell.simulated.simulated_pages?, cell.zeroing.pages)));
    let (pages, all): (Vec<u64>, Vec<u64>) = pages.unzip();
    let (least, most) = (pages.iter().min()?, pages.iter().max()?);
    let simulated = match least == most {
        true => least.to_string(),
        false => format!("{least} to {most}"),
    };
    let is_whole = pages == all;
    let all = select::counts(all);
    Some(match is_whole {
        true => format!("All {all} pages of a pool were simulated."),
        false => format!(
            "Of the {all} pages of a pool, {simulated} were simulated, and the others extrapolated."
        ),
    })
}

/// The pools whose begin decides what they settle to.
fn states(cells: &[&Cell]) -> Option<String> {
    let states = cells.iter().filter_map(|cell| {
        let states = cell.simulated.states_gb_per_cpu_s?;
        Some(format!(
            "{}: {}",
            cell.in_words(),
            report::states_in_words(states)
        ))
    });
    let states: Vec<String> = states.collect();
    (!states.is_empty()).then(|| format!("Pools with two stable rates: {}.", states.join("; ")))
}

/// The same where no interval stands beside a number.
fn medians(group: &PoolGroup) -> String {
    let rounds = group.cells.iter().map(|cell| cell.zeroing.rounds.len());
    match select::counts(rounds.map(|n| n as u64)).as_str() {
        "0" | "1" => "One pass each.".to_owned(),
        many => format!("Medians over {many} rounds."),
    }
}

fn summary(group: &PoolGroup) -> Vec<String> {
    let ranked = group.ranked();
    let (Some(best), Some(worst)) = (ranked.first(), ranked.last()) else {
        return vec![];
    };
    let others = ranked.iter().filter(|cell| group.is_best(cell)).count() - 1;
    let reach = match others {
        0 => String::new(),
        1 => ", which the interval of another reaches".to_owned(),
        more => format!(", which the intervals of {more} others reach"),
    };
    let per_cpu_s = |cell: &Cell| {
        let zeroing = &cell.zeroing;
        let gb = units::gb(zeroing.gb_per_cpu_s.median);
        let gib = units::gb(zeroing.gib_per_cpu_s);
        format!("{gb} GB ({gib} GiB) per CPU-s")
    };
    let wall = |cell: &Cell| cell.zeroing.wall_gb_per_s.median;
    let fastest = ranked.iter().max_by(|a, b| wall(a).total_cmp(&wall(b)));
    let mut words = vec![
        format!("Best: {}: {}{reach}.", best.in_words(), per_cpu_s(best)),
        format!("Worst: {}: {}.", worst.in_words(), per_cpu_s(worst)),
    ];
    words.extend(fastest.map(|fastest| {
        format!(
            "Most per second that passed: {}: {} GB, at {}.",
            fastest.in_words(),
            units::gb(wall(fastest)),
            per_cpu_s(fastest)
        )
    }));
    words
}

fn ideal(group: &PoolGroup) -> Option<String> {
    let ideal = group.ideal.as_ref()?;
    Some(format!(
        "The ideal thread: {}: {} GB per CPU-s.",
        ideal.of,
        units::gb(ideal.gb_per_cpu_s)
    ))
}

/// How many takes there are, and how many of them were timed.
fn timed(group: &PoolGroup, cells: &[&Cell]) -> String {
    let per = match group.is_in_bursts() {
        true => "burst",
        false => "pass over the memory",
    };
    let text = format!("takes: in one {per}, the median.");
    let timed = || cells.iter().filter(|cell| cell.zeroing.wait_ns.n > 0);
    if timed().next().is_none() {
        return text;
    }
    let every = timed().map(|cell| u64::from(cell.zeroing.sampled_every));
    let which = match select::counts(every).as_str() {
        "1" => "Every take".to_owned(),
        every => format!("One take in {every}"),
    };
    let n = select::counts(timed().map(|cell| cell.zeroing.wait_ns.n));
    let overhead = timed().map(|cell| cell.zeroing.sampling_overhead);
    let overhead = match overhead.fold(0.0, f64::max) {
        // On a simulated computer that takes no time.
        0.0 => String::new(),
        share => format!(
            "; reading the clock for that took at most {} % of the CPU time",
            units::percent(share)
        ),
    };
    format!("{text} {which} was timed, n = {n} in each row{overhead}.")
}

/// Where the rest of the cells is.
fn left_out(group: &PoolGroup, cells: &[&Cell]) -> Option<String> {
    let left_out = group.cells.len() - cells.len();
    let threads = distinct(cells.iter().map(|cell| cell.threads));
    let which = if threads.len() < group.threads().len() {
        let threads: Vec<String> = threads.into_iter().map(report::threads_in_words).collect();
        threads.join(" and of ")
    } else {
        "each number of threads".to_owned()
    };
    (left_out > 0).then(|| {
        format!(
            "Only the best, the worst and batch 1 of {which}; the matrix above has the {left_out} other cells, and the \
             JSON all of each."
        )
    })
}
