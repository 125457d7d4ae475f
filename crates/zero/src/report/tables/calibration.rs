//! What the parts of a pool cost on this computer: what its model is made of.

use punctual_record::{Interval, Run};
use punctual_report::tables::blank::{Marks, Why};
use punctual_report::tables::grid::Grid;
use punctual_report::tables::interval_in_words;
use punctual_report::{prose, units};

use crate::rows::{TakeCost, ZeroCalibration, ZeroCost, ZeroRow};

/// The sections of a calibration; none of a run without one, or of one that was
/// ended before its first round.
pub(crate) fn calibration(run: &Run<ZeroRow>) -> Vec<String> {
    let calibration = ZeroCalibration::of(run).filter(|calibration| calibration.rounds > 0);
    let Some(calibration) = calibration else {
        return vec![];
    };
    vec![
        operations(&calibration),
        pages(&calibration),
        takes(&calibration),
        words(&calibration),
    ]
}

/// What CPUs do besides zeroing, by themselves and between each other.
fn operations(calibration: &ZeroCalibration) -> String {
    let cpus = match calibration.cpus {
        1 => "one CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let title = format!("zero-pool, parts of the model: {cpus}");
    let mut grid = Grid::new(title, &["part", "ns [interval]"]);
    let mut row = |part: &str, ns| grid.row(vec![part.to_owned(), within(ns)]);
    row("hit", calibration.hit_ns);
    row("read-modify-write", calibration.rmw_ns);
    row("clock", calibration.clock_ns);
    for (part, ns) in lines(calibration) {
        row(part, ns);
    }
    if let Some(parking) = calibration.parking {
        row("parking, CPU time", parking.cpu_ns);
        row("parking, turnaround", parking.turnaround_ns);
    }
    if let Some(apart) = calibration.start_apart_ns {
        row("start apart", apart);
    }
    grid.section(&[rounds(calibration)], Marks::default())
}

/// What each use of a cache line takes between two CPUs; nothing with one CPU.
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
        1 => (None, Why::OneCpu),
        cpus => (Some(cpus), Why::NotMeasured),
    }
}

/// What a page costs in each memory.
fn pages(calibration: &ZeroCalibration) -> String {
    let head = [
        "memory",
        "size",
        "alone",
        "all at work,\nwritten here",
        "all at work,\nelsewhere",
        "jitter\n%",
        "stores",
    ];
    let title = format!(
        "zero-pool, parts of the model: ns of zeroing a page, {}",
        calibration.kernel
    );
    let mut grid = Grid::new(title, &head);
    let mut marks = Marks::default();
    let (all, why) = all_at_work(calibration);
    for alone in memories(calibration) {
        let mut row = vec![
            alone.memory.clone(),
            units::bytes(alone.bytes as f64),
            within(alone.page_ns),
        ];
        let at_work = |elsewhere| calibration.page(&alone.memory, all?, elsewhere);
        for elsewhere in [false, true] {
            let cost = at_work(elsewhere).map(|cost| within(cost.page_ns));
            row.push(marks.or_blank(cost, why));
        }
        let jitter = at_work(false).unwrap_or(alone).jitter.map(units::percent);
        row.push(marks.or_blank(jitter, Why::NotMeasured));
        let stores = calibration.stores_ns(&alone.memory, calibration.cpus);
        row.push(marks.or_blank(stores.map(within), Why::NotMeasured));
        grid.row(row);
    }
    grid.section(&[rounds(calibration)], marks)
}

/// What a take costs under each lock, by itself and after a page of each memory.
fn takes(calibration: &ZeroCalibration) -> String {
    let head = [
        "memory",
        "lock",
        "by itself",
        "after a page,\nalone",
        "after a page,\nall at work",
    ];
    let title = "zero-pool, parts of the model: ns of a take that nobody else wants, batch 1";
    let mut grid = Grid::new(title, &head).with_names(2);
    let mut marks = Marks::default();
    let single = |take: &&TakeCost| take.batch == "1";
    let (all, why) = all_at_work(calibration);
    for ZeroCost { memory, .. } in memories(calibration) {
        for take in calibration.takes.iter().filter(single) {
            let after_page = |workers| {
                calibration
                    .take_after_page(memory, &take.lock, workers)
                    .map(within)
            };
            grid.row(vec![
                memory.clone(),
                take.lock.clone(),
                within(take.take_ns),
                marks.or_blank(after_page(1), Why::NotMeasured),
                marks.or_blank(all.and_then(after_page), why),
            ]);
        }
    }
    grid.section(&[rounds(calibration)], marks)
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

/// A median with its interval, in nanoseconds.
fn within(ns: Interval) -> String {
    let [median, low, high] = [ns.median, ns.low, ns.high].map(units::ns);
    format!("{median} [{low}..{high}]")
}
