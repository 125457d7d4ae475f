//! What the parts of a pool cost on this computer: what its model is made of.

use punctual_record::{Interval, LineCost, Run, TakeCost, ZeroCalibration, ZeroCost};

use super::blank::{Marks, Why};
use super::cost::interval_in_words;
use super::grid::Grid;
use crate::{prose, units};

/// The sections of a calibration; none of a run without one, or of one that was
/// ended before its first round.
pub(crate) fn zero_calibration(run: &Run) -> Vec<String> {
    let calibration = ZeroCalibration::of(run).filter(|calibration| calibration.rounds > 0);
    let Some(calibration) = calibration else {
        return vec![];
    };
    let memories = Memory::all(&calibration);
    vec![
        operations(&calibration),
        pages(&calibration, &memories),
        takes(&calibration, &memories),
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
    for (part, ns) in lines(&calibration.lines) {
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
fn lines(lines: &[LineCost]) -> Vec<(&'static str, Interval)> {
    let row = |part, of| Some((part, middle(lines, of)?));
    let rows = [
        row("line read", |line| line.read_ns),
        row("line taken", |line| line.taken_ns),
        row("line upgraded", |line| line.upgraded_ns),
        row("line contended", |line| line.contended_ns),
    ];
    rows.into_iter().flatten().collect()
}

/// The median over pairs of CPUs, and over the ends of their intervals.
fn middle(lines: &[LineCost], of: fn(&LineCost) -> Interval) -> Option<Interval> {
    let middle = |end: fn(Interval) -> f64| {
        let all: Vec<f64> = lines.iter().map(|line| end(of(line))).collect();
        Some(Interval::of(&all)?.median)
    };
    Some(Interval {
        median: middle(|i| i.median)?,
        low: middle(|i| i.low)?,
        high: middle(|i| i.high)?,
    })
}

/// What zeroing costs in one memory.
struct Memory<'c> {
    /// Where the pages are.
    name: &'c str,
    bytes: u64,
    /// The CPUs there are.
    cpus: usize,
    costs: Vec<&'c ZeroCost>,
    /// What a page costs of many that one CPU zeroes in one go.
    alone: &'c ZeroCost,
}

impl<'c> Memory<'c> {
    /// All that are in a calibration, in its order.
    fn all(calibration: &'c ZeroCalibration) -> Vec<Self> {
        let costs = || calibration.zeroing.iter();
        let alone = costs().filter(|cost| cost.workers == 1 && cost.lock.is_none());
        let memory = |alone: &'c ZeroCost| Self {
            name: &alone.memory,
            bytes: alone.bytes,
            cpus: calibration.cpus,
            costs: costs()
                .filter(|cost| cost.memory == alone.memory && cost.bytes == alone.bytes)
                .collect(),
            alone,
        };
        alone.map(memory).collect()
    }

    /// What a page costs with all CPUs at work; nothing where there is only one.
    fn all_at_work(&self, elsewhere: bool, lock: Option<&str>) -> Option<&ZeroCost> {
        let mut costs = self.costs.iter().copied();
        costs.find(|cost| {
            cost.workers > 1
                && cost.workers == self.cpus
                && cost.elsewhere == elsewhere
                && cost.lock.as_deref() == lock
        })
    }

    /// What a take costs right after a page, where one CPU is at work.
    fn take_alone(&self, lock: &str) -> Option<Interval> {
        let mut costs = self.costs.iter();
        let with_take =
            costs.find(|cost| cost.workers == 1 && cost.lock.as_deref() == Some(lock))?;
        Some(less(with_take.page_ns, self.alone.page_ns.median))
    }

    /// The same with all CPUs at work, each of which zeroes pages of all.
    fn take_at_work(&self, lock: &str) -> Option<Interval> {
        let with_take = self.all_at_work(false, Some(lock))?;
        let here = self.all_at_work(false, None)?.page_ns.median;
        let elsewhere = self.all_at_work(true, None);
        let elsewhere = elsewhere.map_or(here, |cost| cost.page_ns.median);
        let own = 1.0 / self.cpus as f64;
        let page = here * own + elsewhere * (1.0 - own);
        Some(less(with_take.page_ns, page))
    }

    /// Why something of all CPUs is missing.
    fn why(&self) -> Why {
        match self.cpus {
            1 => Why::OneCpu,
            _ => Why::NotMeasured,
        }
    }
}

/// An interval with so much taken off it.
fn less(interval: Interval, ns: f64) -> Interval {
    Interval {
        median: interval.median - ns,
        low: interval.low - ns,
        high: interval.high - ns,
    }
}

/// What a page costs in each memory.
fn pages(calibration: &ZeroCalibration, memories: &[Memory<'_>]) -> String {
    let head = [
        "memory",
        "size",
        "alone",
        "all at work,\nwritten here",
        "all at work,\nelsewhere",
        "jitter\n%",
    ];
    let title = format!(
        "zero-pool, parts of the model: ns of zeroing a page, {}",
        calibration.kernel
    );
    let mut grid = Grid::new(title, &head);
    let mut marks = Marks::default();
    for memory in memories {
        let here = memory.all_at_work(false, None);
        let mut row = vec![
            memory.name.to_owned(),
            units::bytes(memory.bytes as f64),
            within(memory.alone.page_ns),
        ];
        for cost in [here, memory.all_at_work(true, None)] {
            row.push(marks.or_blank(cost.map(|cost| within(cost.page_ns)), memory.why()));
        }
        let jitter = here.unwrap_or(memory.alone).jitter.map(units::percent);
        row.push(marks.or_blank(jitter, Why::NotMeasured));
        grid.row(row);
    }
    grid.section(&[rounds(calibration)], marks)
}

/// What a take costs under each lock, by itself and after a page of each memory.
fn takes(calibration: &ZeroCalibration, memories: &[Memory<'_>]) -> String {
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
    for memory in memories {
        for take in calibration.takes.iter().filter(single) {
            let alone = memory.take_alone(&take.lock);
            let at_work = memory.take_at_work(&take.lock);
            grid.row(vec![
                memory.name.to_owned(),
                take.lock.clone(),
                within(take.take_ns),
                marks.or_blank(alone.map(within), Why::NotMeasured),
                marks.or_blank(at_work.map(within), memory.why()),
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
    words.extend([PAGES, JITTER, TAKES, MORE]);
    let words = words.into_iter();
    let words: String = words.map(|words| prose::indented("  ", words)).collect();
    format!("What the parts of the model and their columns are\n{words}")
}

const OPERATIONS: &str = "hit, read-modify-write: of a cache line that the CPU has to itself. clock: reading the one \
    that takes are timed by.";

const BETWEEN: &str = "line: a cache line between two CPUs. read: reading what the other wrote last. taken: a \
    read-modify-write of that. upgraded: a read-modify-write by who has just read it. contended: each of the \
    additions of both, who do nothing else; less than taken, as who has the line does several in a row. Of the \
    faster half of the samples; medians over the pairs of CPUs [medians of the ends of their intervals]; the JSON has each pair.";

const PARKING: &str = "parking: CPU time of waking somebody and giving up the CPU, together; turnaround: from the call \
    that wakes somebody to the other running.";

const APART: &str = "start apart: how far apart two workers go on that waited for each other.";

const PAGES: &str = "alone: one CPU at work; all at work: every CPU at the same time, each on other pages. A page is one \
    of many that are zeroed in one go. written here, elsewhere: last by the same CPU, by another.";

const JITTER: &str = "jitter: by which share of that a single page takes longer or shorter at most, were all lengths in \
    between equally likely: twice the median absolute deviation, with as many at work as there are CPUs.";

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
