//! Reports on page zeroing: tables and figures, with the pools in sections of comparable ones; the
//! simulated computers; and how this computer pages, where a report on waiting says how timers
//! fire.

#[cfg(not(target_family = "wasm"))]
mod figures;
mod tables;
mod verdict;

pub(crate) use verdict::with_names_explained;

use punctual_record::{Interval, Run, Value};
use punctual_report::select::grouped;
use punctual_report::tables::table::Table;
use punctual_report::tables::{Compared, Section, Shows, param_in_words};
use punctual_report::text::{self, labelled};
use punctual_report::{Report, Verdict, prose, units};
use punctual_zero_sim::{Machine, Quantity, presets, systems};

use crate::rows::{
    Arrivals, GB_PER_CPU_S, HugePages, PageCost, PoolOf, Simulated, WALL_GB_PER_S, ZeroPool,
    ZeroRow, ZeroedPages, Zeroing, without_waiting,
};
use crate::{ZeroFacts, ascending, distinct};

#[cfg(not(target_family = "wasm"))]
use punctual_report::figures::Figure;

impl Report for ZeroRow {
    fn head(run: &Run<Self>) -> String {
        if !run.results.is_empty() && run.results.iter().all(|row| row.part().is_some()) {
            return text::head(run) + &facts(run);
        }
        // No timer wakes who zeroes pages.
        let pools_only = run.results.iter().all(|row| row.zeroed().is_some());
        let matrix = verdict::matrix(run).map(|matrix| prose::paragraph(&matrix));
        let says_nothing = run.results.is_empty() && run.beside.zero_advice.is_none();
        text::header(run, !pools_only || says_nothing) + &matrix.unwrap_or_default()
    }

    fn sections(run: &Run<Self>) -> Vec<Section> {
        let mut sections = tables::advice(run);
        for (is_of_probe, rows) in grouped(&run.results, |row| row.part().is_some()) {
            sections.extend(match is_of_probe {
                true => tables::probe(&rows),
                false => tables::pool(&rows),
            });
        }
        if run.results.is_empty() && run.beside.zero_advice.is_none() {
            sections.push(text::NO_RESULTS.to_owned().into());
        }
        sections
    }

    fn verdict(run: &Run<Self>) -> Option<Verdict> {
        verdict::verdict(run)
    }

    #[cfg(not(target_family = "wasm"))]
    fn figures(run: &Run<Self>) -> Vec<Figure> {
        figures::all(run)
    }
}

/// Pages of 4 KiB in 2^20 bytes.
pub(crate) const PAGES_PER_MIB: f64 = 256.0;

pub(crate) struct Cell<'r> {
    pub(crate) lock: &'r str,
    pub(crate) batch: &'r str,
    pub(crate) threads: u64,
    pub(crate) zeroing: &'r Zeroing,
    /// Further facts of a simulated pool.
    pub(crate) simulated: &'r Simulated,
}

/// Pools that differ only in their lock, their batch and their threads.
pub(crate) struct PoolGroup<'r> {
    /// The setting that they share, without threads and batch.
    common: PoolOf,
    /// In the order of the run; one at least.
    pub(crate) cells: Vec<Cell<'r>>,
    /// The best rate of one thread per second of CPU time, on the same computer and memory, with
    /// any kernel; `None` if no single thread was tried.
    pub(crate) ideal: Option<Ideal>,
}

#[derive(Clone, PartialEq)]
pub(crate) struct Ideal {
    pub(crate) gb_per_cpu_s: f64,
    pub(crate) of: String,
}

impl<'r> Cell<'r> {
    fn of((lock, zeroed): (&'r str, &'r ZeroedPages)) -> Self {
        Self {
            lock,
            batch: &zeroed.pool.batch,
            threads: zeroed.pool.threads,
            zeroing: &zeroed.zero,
            simulated: &zeroed.simulated,
        }
    }

    pub(crate) fn gb_per_cpu_s(&self) -> Interval {
        self.zeroing.gb_per_cpu_s
    }

    /// Whether its interval comes from the model's unknowns, not from rounds. The intervals of two
    /// cells are not independent then: the unknowns are the same for both.
    pub(crate) fn has_a_models_interval(&self) -> bool {
        let Interval { low, high, .. } = self.gb_per_cpu_s();
        self.zeroing.rounds.is_empty() && low < high
    }

    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.zeroing.oversubscribed
    }

    /// The CPU time relative to the same pool without waiting; `None` if all of it is waiting.
    pub(crate) fn over_no_waiting(&self) -> Option<f64> {
        without_waiting(self.zeroing.cpu.waiting)
    }

    /// Whether the simulation of its lock is not validated on its kind of computer.
    pub(crate) fn is_not_validated(&self) -> bool {
        !self.simulated.not_validated.is_empty()
    }

    /// `mcs, batch 64, 2 threads`.
    pub(crate) fn in_words(&self) -> String {
        pool_in_words(self.lock, self.batch, self.threads, self.is_not_validated())
    }
}

impl ZeroPool {
    /// The same of a pool that is advised.
    pub(crate) fn in_words(&self, not_validated: bool) -> String {
        pool_in_words(&self.lock, &self.batch, self.threads, not_validated)
    }
}

fn pool_in_words(lock: &str, batch: &str, threads: u64, not_validated: bool) -> String {
    let lock = lock_in_words(lock, not_validated);
    format!("{lock}, batch {batch}, {}", threads_in_words(threads))
}

/// `mutex (not validated)`.
pub(crate) fn lock_in_words(lock: &str, not_validated: bool) -> String {
    match not_validated {
        true => format!("{lock} (not validated)"),
        false => lock.to_owned(),
    }
}

/// The meaning of that mark.
pub(crate) const NOT_VALIDATED: &str = "not validated: no published measurement shows that this lock is simulated \
    right (within a factor of 1.5) on this kind of computer.";

/// `12.3 GB per CPU-s if all threads begin at once, 45.6 if they begin one by one`.
pub(crate) fn states_in_words([at_once, apart]: [f64; 2]) -> String {
    let [at_once, apart] = [at_once, apart].map(units::gb);
    format!("{at_once} GB per CPU-s if all threads begin at once, {apart} if they begin one by one")
}

pub(crate) fn threads_in_words(threads: u64) -> String {
    prose::counted(threads, "thread")
}

/// The cost of one subject of a part of the probe, with or without huge pages where that was asked.
pub(crate) fn find<'r>(
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

/// How much memory their costs are of, each size once, from the least.
pub(crate) fn sizes(rows: &[&ZeroRow]) -> Vec<u64> {
    ascending(rows.iter().filter_map(|row| Some(row.memory_cost()?.0)))
}

pub(crate) fn of_run(run: &Run<ZeroRow>) -> Vec<PoolGroup<'_>> {
    let rows: Vec<&ZeroRow> = run.results.iter().collect();
    groups(&rows)
}

pub(crate) fn groups<'r>(measurements: &[&'r ZeroRow]) -> Vec<PoolGroup<'r>> {
    let pools = measurements.iter().copied();
    let pools = pools.filter_map(|row| Some((row.subject.as_str(), row.zeroed()?)));
    let pools = grouped(pools, |(_, zeroed)| PoolOf {
        threads: 0,
        batch: String::new(),
        ..zeroed.pool.clone()
    });
    let groups = pools.into_iter().map(|(common, pools)| PoolGroup {
        common,
        cells: pools.into_iter().map(Cell::of).collect(),
        ideal: None,
    });
    let mut groups: Vec<PoolGroup<'r>> = groups.collect();
    let ideals: Vec<_> = groups.iter().map(|s| s.ideal_among(&groups)).collect();
    for (group, ideal) in groups.iter_mut().zip(ideals) {
        group.ideal = ideal;
    }
    groups
}

/// The median, if it is one that a pool can have.
fn positive(cell: &Cell) -> Option<f64> {
    Some(cell.gb_per_cpu_s().median).filter(|gb| *gb > 0.0)
}

impl<'r> PoolGroup<'r> {
    fn ideal_among(&self, groups: &[PoolGroup<'r>]) -> Option<Ideal> {
        let alike = groups.iter().filter(|o| o.place() == self.place());
        let alone = alike.flat_map(|group| {
            let kernel = &group.common.kernel;
            group.cells.iter().map(move |cell| (cell, kernel))
        });
        let alone = alone.filter(|(cell, _)| cell.threads == 1);
        let best = alone.filter_map(|(cell, kernel)| Some((positive(cell)?, cell, kernel)));
        let (gb_per_cpu_s, cell, kernel) = best.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let of = format!("{}, {kernel}", cell.in_words());
        Some(Ideal { gb_per_cpu_s, of })
    }

    /// Which memory they zero, and on which model.
    fn place(&self) -> (&str, u64, Option<&str>) {
        (&self.common.memory, self.common.bytes, self.model())
    }

    /// The model that the pools were simulated on; none if they ran here.
    pub(crate) fn model(&self) -> Option<&str> {
        self.common.on.as_deref()
    }

    /// How many times the CPU time per GB that one ideal thread takes.
    pub(crate) fn over_ideal(&self, cell: &Cell) -> Option<f64> {
        Some(self.ideal.as_ref()?.gb_per_cpu_s / positive(cell)?)
    }

    /// Each number of threads, from the least.
    pub(crate) fn threads(&self) -> Vec<u64> {
        ascending(self.cells.iter().map(|cell| cell.threads))
    }

    pub(crate) fn locks(&self) -> Vec<&'r str> {
        distinct(self.cells.iter().map(|cell| cell.lock))
    }

    pub(crate) fn batches(&self) -> Vec<&str> {
        distinct(self.cells.iter().map(|cell| cell.batch))
    }

    /// The cell of a lock, a batch and so many threads.
    pub(crate) fn cell(&self, lock: &str, batch: &str, threads: u64) -> Option<&Cell<'r>> {
        let is = |c: &&Cell| c.lock == lock && c.batch == batch && c.threads == threads;
        self.cells.iter().find(is)
    }

    /// The cells with no more workers than CPUs, by their rate per second of CPU time, the highest
    /// first.
    pub(crate) fn ranked(&self) -> Vec<&Cell<'r>> {
        let mut cells: Vec<&Cell> = self.cells.iter().collect();
        cells.retain(|cell| !cell.is_oversubscribed());
        sort_by_gb(&mut cells);
        cells
    }

    /// Whether a cell is the best of them, or has an interval over rounds that
    /// reaches it.
    pub(crate) fn is_best(&self, cell: &Cell) -> bool {
        let most = self.ranked().first().map(|best| best.gb_per_cpu_s().median);
        let Interval { median, high, .. } = cell.gb_per_cpu_s();
        let reach = match cell.has_a_models_interval() {
            true => median,
            false => high.max(median),
        };
        !cell.is_oversubscribed() && most.is_some_and(|most| reach >= most)
    }

    /// Whether pages come in bursts, and not all at once.
    pub(crate) fn is_in_bursts(&self) -> bool {
        self.common.arrivals == Arrivals::Burst
    }

    /// The time from one burst to the next, in ns.
    pub(crate) fn every_ns(&self) -> Option<u64> {
        self.common.every_ns
    }

    pub(crate) fn in_words(&self) -> String {
        let all: Vec<String> = self.words(true).into_iter().flatten().collect();
        all.join(", ")
    }

    /// The parts of its setting that distinguish it from the other groups of the run; empty if
    /// there are none.
    pub(crate) fn among(&self, groups: &[PoolGroup]) -> String {
        let PoolOf { memory, bytes, .. } = &self.common;
        let mut alike = groups.iter().map(|other| &other.common);
        let one_size = alike.all(|other| other.memory != *memory || other.bytes == *bytes);
        let others: Vec<_> = groups.iter().map(|other| other.words(!one_size)).collect();
        let words = self.words(!one_size).into_iter().enumerate();
        let differs = |i: usize, words: &Option<String>| others.iter().any(|o| o[i] != *words);
        let words = words.filter(|(i, words)| differs(*i, words));
        let words: Vec<String> = words.filter_map(|(_, words)| words).collect();
        words.join(", ")
    }

    /// Each parameter in words, always in the same place; how much memory there is only
    /// if that is `sized`.
    fn words(&self, sized: bool) -> [Option<String>; 9] {
        let of = &self.common;
        let memory = match sized {
            true => {
                let bytes = units::bytes(of.bytes as f64);
                format!("{} memory of {bytes}", of.memory)
            }
            false => format!("{} memory", of.memory),
        };
        let dequeue = match of.dequeue.as_str() {
            "range" => "ranges handed out",
            "list" => "taken from a linked list",
            other => other,
        };
        let every = of.every_ns.map(|ns| units::nominal(ns as f64));
        let arrivals = match (of.arrivals, every) {
            (Arrivals::Closed, _) => "closed backlog".to_owned(),
            (Arrivals::Burst, Some(every)) => format!("a burst every {every}"),
            (Arrivals::Burst, None) => "bursts".to_owned(),
        };
        let returns = of.returns.as_ref();
        let param = |key, value: Option<Value>| value.map(|value| param_in_words(key, &value));
        [
            Some(memory),
            Some(of.kernel.clone()),
            Some(dequeue.to_owned()),
            Some(arrivals),
            returns.map(|lock| format!("zeroed pages put into a list under {lock}")),
            param("arrive_gb_per_s", of.arrive_gb_per_s.map(Value::from)),
            param("preempted_every_ns", of.preempted_every_ns.map(Value::from)),
            param("preempted_for_ns", of.preempted_for_ns.map(Value::from)),
            of.on.as_ref().map(|on| format!("on {on}")),
        ]
    }
}

/// From the most that is zeroed per second of CPU time.
pub(crate) fn sort_by_gb(cells: &mut [&Cell]) {
    let gb = |cell: &Cell| cell.gb_per_cpu_s().median;
    cells.sort_by(|a, b| gb(b).total_cmp(&gb(a)));
}

/// A length of time with its interval: `12.3 us [11.0..14.5]`.
pub(crate) fn duration_within(Interval { median, low, high }: Interval) -> String {
    units::duration_within(median, low, high)
}

/// GB zeroed, for `punctual compare`.
pub const COMPARED: Compared = Compared {
    what: "GB zeroed",
    caption: "GB (1e9 bytes) zeroed per second of CPU time that all workers used together, and per second that \
        passed. More is better.",
    columns: &[
        ("GB per CPU-s [95 %]", Shows::Within(GB_PER_CPU_S)),
        ("over A's", Shows::OverFirst(GB_PER_CPU_S)),
        ("wall GB/s [95 %]", Shows::Within(WALL_GB_PER_S)),
        ("over A's", Shows::OverFirst(WALL_GB_PER_S)),
    ],
};

/// All of them, with their figures.
pub fn computers() -> String {
    let machines: Vec<Machine> = presets().iter().map(|preset| preset.machine()).collect();
    // A number that is the same for every computer is stated once.
    let is_common = |(quantity, figure): &(Quantity, &punctual_zero_sim::Figure)| {
        let mut others = machines.iter().map(|machine| machine.figure(*quantity));
        others.all(|other| other == Some(*figure))
    };
    let own = machines.iter().map(|machine| {
        let title = format!("{}: {}", machine.name, machine.what);
        let figures = machine.figures().filter(|figure| !is_common(figure));
        figures_of(&title, figures)
    });
    let mut sections: Vec<String> = own.collect();
    let common = machines.iter().take(1).flat_map(Machine::figures);
    sections.push(figures_of("All of these", common.filter(is_common)));
    sections.push(of_windows());
    sections.push(
        "\
Figures follow the name of a computer, separated by commas: --on cascade-lake-96,zero=150ns.
How sure a figure is: A documented by the vendor or read in the source; B measured by others, and
consistent with another source; C one measurement or an inference; D unverified.
"
        .to_owned(),
    );
    sections.join("\n")
}

fn of_windows() -> String {
    let title = "The systems of the article: what they do for each page besides zeroing it, all of confidence D";
    Table::new(title, systems())
        .column("system", |system| system.what.clone())
        .column("on", |system| system.machine.clone())
        .column("a page besides", |system| {
            format!("{} ns", system.bookkeeping().value)
        })
        .column("between", |system| {
            let besides = system.bookkeeping();
            format!("{} to {}", besides.low, besides.high)
        })
        .column("source of that", |system| {
            system.bookkeeping().source.to_string()
        })
        .column("source", |system| system.source.clone())
        .names(6)
        .within(punctual_report::tables::width())
        .section()
        .text
}

fn figures_of<'f>(
    title: &str,
    figures: impl Iterator<Item = (Quantity, &'f punctual_zero_sim::Figure)>,
) -> String {
    let figures: Vec<_> = figures.collect();
    Table::new(title, &figures)
        .column("figure", |(quantity, _)| quantity.key())
        .column("is", |(quantity, figure)| {
            let value = format!("{} {}", figure.value, quantity.unit());
            value.trim_end().to_owned()
        })
        .column("between", |(_, figure)| match figure.low < figure.high {
            true => format!("{} to {}", figure.low, figure.high),
            false => String::new(),
        })
        .column("sure", |(_, figure)| figure.confidence.to_string())
        .column("what", |(quantity, _)| quantity.what())
        .column("source", |(_, figure)| figure.source.to_string())
        .names(6)
        .within(punctual_report::tables::width())
        .section()
        .text
}

/// The facts that bear on memory, a line each.
fn facts(run: &Run<ZeroRow>) -> String {
    let facts = ZeroFacts::of(&run.machine);
    let bytes = |bytes: u64| units::bytes(bytes as f64);
    let on_or_off =
        |is_on: Option<bool>| is_on.map_or("not told", |is_on| if is_on { "on" } else { "off" });
    let caches = facts.caches.iter();
    let caches = caches.map(|cache| format!("L{} {}", cache.level, bytes(cache.bytes)));
    let pages = facts.page_bytes.map(bytes);
    let huge_bytes = facts.huge_page_bytes.map(bytes);
    let huge = match (huge_bytes, facts.huge_pages.as_deref().map(when_in_words)) {
        (Some(bytes), Some(when)) => format!("{bytes}, {when}"),
        (Some(huge), None) | (None, Some(huge)) => huge,
        (None, None) => "none that the system puts in on its own".to_owned(),
    };
    let [alloc, free] = [facts.init_on_alloc, facts.init_on_free].map(on_or_off);
    let zeroing = format!("init_on_alloc {alloc}, init_on_free {free}");
    let free = facts.free_bytes.map(|free| format!("{} free", bytes(free)));
    let limit = run.beside.memory_limit_bytes;
    let limit = limit.map(|limit| format!("at most {} used at a time", bytes(limit)));
    let memory: Vec<String> = free.into_iter().chain(limit).collect();
    let lines = [
        ("caches", caches.collect::<Vec<_>>().join(", ")),
        ("pages", pages.unwrap_or_default()),
        ("huge pages", huge),
        ("zeroing", zeroing),
        ("memory", memory.join(", ")),
        ("allocator", facts.allocator.unwrap_or_default()),
        ("CPU time", run.machine.cpu_time.clone()),
    ];
    let lines = lines.iter().map(|(label, value)| labelled(label, value));
    lines.collect()
}

fn when_in_words(setting: &str) -> String {
    match setting {
        "always" => "everywhere (always)".to_owned(),
        "madvise" => "where a program asks for them (madvise)".to_owned(),
        other => other.to_owned(),
    }
}
