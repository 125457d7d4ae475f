//! What the parts of a pool cost on this computer: what its model is made of.

use punctual_record::{Interval, Run};
use punctual_report::tables::Passage;
use punctual_report::tables::interval_in_words;
use punctual_report::tables::table::Table;
use punctual_report::tables::table::Why;
use punctual_report::{prose, units};

use crate::rows::{TakeCost, ZeroCalibration, ZeroCost, ZeroRow};

/// The sections of a calibration; none of a run without one, or of one that was
/// ended before its first round.
pub(crate) fn calibration(run: &Run<ZeroRow>) -> Vec<Passage> {
    let calibration = run
        .beside
        .zero_calibration
        .as_ref()
        .filter(|calibration| calibration.rounds > 0);
    let Some(calibration) = calibration else {
        return vec![];
    };
    vec![
        operations(calibration),
        pages(calibration),
        takes(calibration),
        words(calibration).into(),
    ]
}

/// What CPUs do besides zeroing, by themselves and between each other.
fn operations(calibration: &ZeroCalibration) -> Passage {
    let cpus = match calibration.cpus {
        1 => "one CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let title = format!("zero-pool, parts of the model: {cpus}");
    let mut rows = vec![
        ("hit", calibration.hit_ns),
        ("read-modify-write", calibration.rmw_ns),
        ("clock", calibration.clock_ns),
    ];
    rows.extend(lines(calibration));
    if let Some(parking) = calibration.parking {
        rows.push(("parking, CPU time", parking.cpu_ns));
        rows.push(("parking, turnaround", parking.turnaround_ns));
    }
    rows.extend(
        calibration
            .start_apart_ns
            .map(|apart| ("start apart", apart)),
    );
    Table::new(title, &rows)
        .column("part", |(part, _)| *part)
        .column("ns [interval]", |(_, ns)| within(*ns))
        .caption(rounds(calibration))
        .section()
}

fn lines(calibration: &ZeroCalibration) -> Vec<(&'static str, Interval)> {
    let row = |part, of| Some((part, calibration.line(of)?));
    let rows = [
        row("line read", |line| line.read_ns),
        row("line taken", |line| line.taken_ns),
        row("line upgraded", |line| line.upgraded_ns),
        row("line contended", |line| line.contended_ns),
    ];
    rows.into_iter().flatten().collect()
}

/// The memories whose pages were zeroed, in the order of the calibration: what a
/// page of many costs one CPU by itself.
fn memories(calibration: &ZeroCalibration) -> Vec<&ZeroCost> {
    let costs = calibration.zeroing.iter();
    let alone = costs.filter(|cost| cost.workers == 1 && cost.lock.is_none());
    alone.collect()
}

/// All CPUs, where there is more than one, and why something of all is missing.
fn all_at_work(calibration: &ZeroCalibration) -> (Option<usize>, Why) {
    match calibration.cpus {
        1 => (None, Why::ONE_CPU),
        cpus => (Some(cpus), Why::NOT_MEASURED),
    }
}

fn pages(calibration: &ZeroCalibration) -> Passage {
    let (all, why) = all_at_work(calibration);
    let at_work = |alone: &ZeroCost, elsewhere| calibration.page(&alone.memory, all?, elsewhere);
    let title = format!(
        "zero-pool, parts of the model: ns of zeroing a page, {}",
        calibration.kernel
    );
    Table::new(title, &memories(calibration))
        .column("memory", |alone| alone.memory.as_str())
        .column("size", |alone| units::bytes(alone.bytes as f64))
        .column("alone", |alone| within(alone.page_ns))
        .column("all at work,\nwritten here", |alone| {
            at_work(alone, false).map(|cost| within(cost.page_ns))
        })
        .blank(why)
        .column("all at work,\nelsewhere", |alone| {
            at_work(alone, true).map(|cost| within(cost.page_ns))
        })
        .blank(why)
        .column("jitter\n%", |alone| {
            let cost = at_work(alone, false).unwrap_or(alone);
            cost.jitter.map(units::percent)
        })
        .column("stores", |alone| {
            let stores = calibration.stores_ns(&alone.memory, calibration.cpus);
            stores.map(within)
        })
        .caption(rounds(calibration))
        .section()
}

/// What a take costs under each lock, by itself and after a page of each memory.
fn takes(calibration: &ZeroCalibration) -> Passage {
    let (all, why) = all_at_work(calibration);
    let single = calibration.takes.iter().filter(|take| take.batch == "1");
    let rows: Vec<(&str, &TakeCost)> = memories(calibration)
        .into_iter()
        .flat_map(|cost| single.clone().map(|take| (cost.memory.as_str(), take)))
        .collect();
    let after_page = |(memory, take): &(&str, &TakeCost), workers| {
        let cost = calibration.take_after_page(memory, &take.lock, workers);
        cost.map(within)
    };
    let title = "zero-pool, parts of the model: ns of a take that nobody else wants, batch 1";
    Table::new(title, &rows)
        .column("memory", |(memory, _)| *memory)
        .column("lock", |(_, take)| take.lock.as_str())
        .names(2)
        .column("by itself", |(_, take)| within(take.take_ns))
        .column("after a page,\nalone", |row| after_page(row, 1))
        .column("after a page,\nall at work", |row| after_page(row, all?))
        .blank(why)
        .caption(rounds(calibration))
        .section()
}

fn rounds(calibration: &ZeroCalibration) -> String {
    interval_in_words(std::iter::once(calibration.rounds as usize))
}

/// What the parts and the columns are, as far as they are there.
fn words(calibration: &ZeroCalibration) -> String {
    let mut words = vec![OPERATIONS];
    if !calibration.lines.is_empty() {
        words.push(BETWEEN);
    }
    if calibration.parking.is_some() {
        words.push(PARKING);
    }
    if calibration.start_apart_ns.is_some() {
        words.push(APART);
    }
    words.extend([PAGES, JITTER, STORES, TAKES, MORE]);
    let words = words.into_iter();
    let words: String = words.map(|words| prose::indented("  ", words)).collect();
    format!("What the parts of the model and their columns are\n{words}")
}

const OPERATIONS: &str = "hit, read-modify-write: of a cache line that the CPU has to itself. clock: reading the one \
    that takes are timed by.";

const BETWEEN: &str = "line: a cache line between two CPUs. read: reading what the other wrote last. taken: a \
    read-modify-write of that. upgraded: a read-modify-write by who has just read it. contended: each of the \
    additions of both, who do nothing else; less than taken, as who has the line does several in a row. \
    Medians over the pairs of CPUs [medians of the ends of their intervals]; the JSON has each pair.";

const PARKING: &str = "parking: CPU time of waking somebody and giving up the CPU, together; turnaround: from the call \
    that wakes somebody to the other running.";

const APART: &str = "start apart: how far apart two workers go on that waited for each other.";

const PAGES: &str = "alone: one CPU at work; all at work: every CPU at the same time, each on other pages. A page is one \
    of many that are zeroed in one go. written here, elsewhere: last by the same CPU, by another.";

const JITTER: &str = "jitter: by which share of that a single page takes longer or shorter at most, were all lengths in \
    between equally likely: twice the median absolute deviation, with as many at work as there are CPUs.";

const STORES: &str = "stores: how much longer a page takes until its stores are done [the interval of such pages, less \
    one of many], with as many at work as there are CPUs. A lock that comes from another CPU waits for them.";

const TAKES: &str = "by itself: getting the lock, taking, giving it back, with nothing else under way. after a page: \
    what a page that is taken by itself costs more than one of many [the interval of such pages, less the same]; \
    the stores to the page have to be done first. All at work have a lock each, and zero pages that any of them \
    wrote. Less than 0: pages differ more than a take costs.";

const MORE: &str = "The JSON has other batches too, and what it costs to time a take.";

fn within(ns: Interval) -> String {
    ns.written(units::ns)
}
