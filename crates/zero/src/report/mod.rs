//! Page zeroing for a person to read: its tables and figures, and the pools as they
//! need them, in sections of those that can be compared with each other.

mod compared;
mod figures;
mod memory;
mod tables;

pub use compared::COMPARED;

use std::collections::BTreeMap;

use punctual_record::{Interval, Run, Value};
use punctual_report::figures::figure::Figure;
use punctual_report::select::grouped;
use punctual_report::tables::param_in_words;
use punctual_report::{Report, text, units};

use crate::rows::{PAGE_BYTES, ZeroRow, Zeroing};

/// Pools of workers that zero pages.
const POOL: &str = "zero-pool";

/// What the OS takes for fresh memory, and who pays.
pub(crate) const PROBE: &str = "zero-probe";

impl Report for ZeroRow {
    fn head(run: &Run<Self>) -> String {
        if !run.results.is_empty() && of_experiment(run, PROBE).len() == run.results.len() {
            return text::head(run) + &memory::facts(run);
        }
        // No timer wakes who zeroes pages.
        let pools_only = of_experiment(run, POOL).len() == run.results.len();
        let says_nothing = run.results.is_empty() && run.beside.zero_advice.is_none();
        text::header(run, !pools_only || says_nothing)
    }

    fn sections(run: &Run<Self>) -> Vec<String> {
        let mut sections = tables::advice(run);
        for (experiment, rows) in grouped(&run.results, |row| row.experiment.as_str()) {
            sections.extend(match experiment {
                PROBE => tables::probe(&rows),
                _ => tables::pool(&rows),
            });
        }
        if run.results.is_empty() && run.beside.zero_advice.is_none() {
            sections.push(text::NO_RESULTS.to_owned());
        }
        sections.extend(tables::calibration(run));
        sections
    }

    fn figures(run: &Run<Self>) -> Vec<Figure> {
        figures::all(run)
    }
}

/// What is varied within a section.
const VARIED: [&str; 2] = ["threads", "batch"];

/// What a pool did under one setting.
pub(crate) struct Cell<'r> {
    pub(crate) lock: &'r str,
    pub(crate) batch: String,
    pub(crate) threads: u64,
    pub(crate) zeroing: Zeroing,
    /// What the closed form says of the same pool, GB per CPU-second, where it
    /// was simulated.
    pub(crate) closed_form: Option<f64>,
    /// What simulated bursts come to, one after the other.
    pub(crate) arriving: Option<Arriving>,
}

/// How a pool fares while pages arrive all the time.
pub(crate) struct Arriving {
    /// How many CPUs are busy, on average.
    pub(crate) busy_cpus: f64,
    /// The share of time in which there is a burst.
    pub(crate) duty: f64,
    /// Whether a burst ends before the next.
    pub(crate) keeps_up: bool,
}

/// Pools that differ only in their lock, their batch and their threads.
pub(crate) struct Section<'r> {
    /// What they have in common.
    params: BTreeMap<&'r str, &'r Value>,
    /// In the order of the run; one at least.
    pub(crate) cells: Vec<Cell<'r>>,
    /// What one thread zeroes per second of CPU time at best, on the same
    /// computer and memory, whatever the kernel; `None` where none was tried.
    pub(crate) ideal: Option<Ideal>,
}

/// The best of one thread.
#[derive(Clone, PartialEq)]
pub(crate) struct Ideal {
    pub(crate) gb_per_cpu_s: f64,
    /// Which pool of one thread that was.
    pub(crate) of: String,
}

impl<'r> Cell<'r> {
    fn of(measurement: &'r ZeroRow) -> Option<Self> {
        Some(Self {
            lock: &measurement.subject,
            batch: batch(measurement)?,
            threads: param(measurement, "threads")? as u64,
            zeroing: Zeroing::of(measurement)?,
            closed_form: extra(measurement, "chain_gb_per_cpu_s"),
            arriving: Arriving::of(measurement),
        })
    }

    /// What it zeroed per second of CPU time.
    pub(crate) fn gb_per_cpu_s(&self) -> Interval {
        self.zeroing.gb_per_cpu_s
    }

    /// Whether its interval is not that of rounds, but of what the model does not
    /// know of its computer. Those of two cells are not independent then: what is
    /// not known is the same for both.
    pub(crate) fn has_a_models_interval(&self) -> bool {
        let Interval { low, high, .. } = self.gb_per_cpu_s();
        self.zeroing.rounds.is_empty() && low < high
    }

    /// Whether there were more workers than CPUs.
    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.zeroing.oversubscribed
    }

    /// How many times the CPU time that the same pool would take if nobody
    /// waited; `None` if all of it is waiting.
    pub(crate) fn over_no_waiting(&self) -> Option<f64> {
        let working = 1.0 - self.zeroing.cpu.waiting;
        (working > 0.0).then(|| 1.0 / working)
    }

    /// `mcs, batch 64, 2 threads`.
    pub(crate) fn in_words(&self) -> String {
        let threads = threads_in_words(self.threads);
        format!("{}, batch {}, {threads}", self.lock, self.batch)
    }
}

impl Arriving {
    fn of(measurement: &ZeroRow) -> Option<Self> {
        Some(Self {
            busy_cpus: extra(measurement, "busy_cpus")?,
            duty: extra(measurement, "duty")?,
            keeps_up: measurement.other.get("keeps_up")?.as_bool()?,
        })
    }
}

/// The batch, which may be a number in the file.
fn batch(measurement: &ZeroRow) -> Option<String> {
    let batch = measurement.params.get("batch")?;
    Some(match batch.as_str() {
        Some(word) => word.to_owned(),
        None => batch.to_string(),
    })
}

pub(crate) fn threads_in_words(threads: u64) -> String {
    let plural = if threads == 1 { "" } else { "s" };
    format!("{threads} thread{plural}")
}

/// A parameter that is a number.
pub(crate) fn param(row: &ZeroRow, key: &str) -> Option<f64> {
    row.params.get(key)?.as_f64()
}

/// A parameter that is a word.
pub(crate) fn word<'a>(row: &'a ZeroRow, key: &str) -> &'a str {
    let word = row.params.get(key).and_then(Value::as_str);
    word.unwrap_or("unknown")
}

/// The values of one parameter, each once, from the smallest.
pub(crate) fn values(rows: &[&ZeroRow], key: &str) -> Vec<f64> {
    let mut values: Vec<f64> = rows.iter().filter_map(|row| param(row, key)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn extra(row: &ZeroRow, key: &str) -> Option<f64> {
    row.other.get(key)?.as_f64()
}

/// Those of one experiment.
pub(crate) fn of_experiment<'r>(run: &'r Run<ZeroRow>, experiment: &str) -> Vec<&'r ZeroRow> {
    let rows = run.results.iter();
    rows.filter(|row| row.experiment == experiment).collect()
}

/// The sections of a run.
pub(crate) fn of_run(run: &Run<ZeroRow>) -> Vec<Section<'_>> {
    sections(&of_experiment(run, POOL))
}

/// The sections of what can be read among `measurements`.
pub(crate) fn sections<'r>(measurements: &[&'r ZeroRow]) -> Vec<Section<'r>> {
    let mut sections: Vec<Section<'r>> = Vec::new();
    for measurement in measurements {
        let Some(cell) = Cell::of(measurement) else {
            continue;
        };
        let params = measurement.params.iter();
        let params: BTreeMap<&str, &Value> = params
            .map(|(key, value)| (key.as_str(), value))
            .filter(|(key, _)| !VARIED.contains(key))
            .collect();
        match sections.iter_mut().find(|s| s.params == params) {
            Some(section) => section.cells.push(cell),
            None => sections.push(Section {
                params,
                cells: vec![cell],
                ideal: None,
            }),
        }
    }
    let ideals: Vec<_> = sections.iter().map(|s| s.ideal_among(&sections)).collect();
    for (section, ideal) in sections.iter_mut().zip(ideals) {
        section.ideal = ideal;
    }
    sections
}

/// The median, if it is one that a pool can have.
fn positive(cell: &Cell) -> Option<f64> {
    Some(cell.gb_per_cpu_s().median).filter(|gb| *gb > 0.0)
}

impl<'r> Section<'r> {
    fn ideal_among(&self, sections: &[Section<'r>]) -> Option<Ideal> {
        let alike = |other: &&Section| {
            let same = |key| self.params.get(key) == other.params.get(key);
            ["memory", "bytes", "on"].into_iter().all(same)
        };
        let alone = sections.iter().filter(alike).flat_map(|section| {
            let kernel = section.params.get("kernel").and_then(|k| k.as_str());
            section.cells.iter().map(move |cell| (cell, kernel))
        });
        let alone = alone.filter(|(cell, _)| cell.threads == 1);
        let best = alone.filter_map(|(cell, kernel)| Some((positive(cell)?, cell, kernel)));
        let (gb_per_cpu_s, cell, kernel) = best.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let of = match kernel {
            Some(kernel) => format!("{}, {kernel}", cell.in_words()),
            None => cell.in_words(),
        };
        Some(Ideal { gb_per_cpu_s, of })
    }

    /// The model that the pools were simulated on; none if they ran here.
    pub(crate) fn model(&self) -> Option<&str> {
        self.params.get("on")?.as_str()
    }

    /// How many times the CPU time per GB that one ideal thread takes.
    pub(crate) fn over_ideal(&self, cell: &Cell) -> Option<f64> {
        Some(self.ideal.as_ref()?.gb_per_cpu_s / positive(cell)?)
    }

    /// Each number of threads, from the least.
    pub(crate) fn threads(&self) -> Vec<u64> {
        let mut threads: Vec<u64> = self.cells.iter().map(|cell| cell.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    /// The locks, in the order of the run.
    pub(crate) fn locks(&self) -> Vec<&'r str> {
        distinct(self.cells.iter().map(|cell| cell.lock))
    }

    /// The batches, in the order of the run.
    pub(crate) fn batches(&self) -> Vec<&str> {
        distinct(self.cells.iter().map(|cell| cell.batch.as_str()))
    }

    /// The cell of a lock, a batch and so many threads.
    pub(crate) fn cell(&self, lock: &str, batch: &str, threads: u64) -> Option<&Cell<'r>> {
        let is = |c: &&Cell| c.lock == lock && c.batch == batch && c.threads == threads;
        self.cells.iter().find(is)
    }

    /// Those with no more workers than CPUs, by what they zero per second of
    /// CPU time, from the most.
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
        let arrivals = self.params.get("arrivals");
        arrivals.is_some_and(|arrivals| *arrivals == "burst")
    }

    /// What its pools have in common, in words.
    pub(crate) fn in_words(&self) -> String {
        let all: Vec<String> = self
            .words(true)
            .into_iter()
            .map(|(_, words)| words)
            .collect();
        all.join(", ")
    }

    /// What distinguishes it among the others of the run; nothing if there are
    /// none.
    pub(crate) fn among(&self, sections: &[Section]) -> String {
        let differs = |key: &str| {
            let value = self.params.get(key);
            sections.iter().any(|other| other.params.get(key) != value)
        };
        let memory = self.params.get("memory");
        let alike = sections
            .iter()
            .filter(|other| other.params.get("memory") == memory);
        let mut sizes = alike.map(|other| other.params.get("bytes"));
        let one_size = sizes.all(|size| size == self.params.get("bytes"));
        let words: Vec<String> = self
            .words(memory.is_none() || !one_size)
            .into_iter()
            .filter(|(keys, _)| keys.iter().any(|key| differs(key)))
            .map(|(_, words)| words)
            .collect();
        words.join(", ")
    }

    /// Each parameter in words, with those it is made of; how much memory there
    /// is only if that is `sized`.
    fn words(&self, sized: bool) -> Vec<(Vec<&str>, String)> {
        let word = |key: &str| self.params.get(key).and_then(|value| value.as_str());
        let number = |key: &str| self.params.get(key).and_then(|value| value.as_f64());
        let mut words = Vec::new();
        let bytes = number("bytes").filter(|_| sized).map(units::bytes);
        match (word("memory"), bytes) {
            (Some(memory), Some(bytes)) => {
                words.push((
                    vec!["memory", "bytes"],
                    format!("{memory} memory of {bytes}"),
                ));
            }
            (Some(memory), None) => words.push((vec!["memory"], format!("{memory} memory"))),
            (None, Some(bytes)) => words.push((vec!["bytes"], bytes)),
            (None, None) => {}
        }
        words.extend(word("kernel").map(|kernel| (vec!["kernel"], kernel.to_owned())));
        words.extend(word("dequeue").map(|dequeue| {
            let dequeue = match dequeue {
                "range" => "ranges handed out",
                "list" => "taken from a linked list",
                other => other,
            };
            (vec!["dequeue"], dequeue.to_owned())
        }));
        words.extend(word("arrivals").map(|arrivals| {
            let every = number("every_ns").map(units::nominal);
            let arrivals = match (arrivals, every) {
                ("closed", _) => "closed backlog".to_owned(),
                ("burst", Some(every)) => format!("a burst every {every}"),
                ("burst", None) => "bursts".to_owned(),
                (other, _) => other.to_owned(),
            };
            (vec!["arrivals", "every_ns"], arrivals)
        }));
        words.extend(number("pages").map(|pages| {
            let bytes = units::bytes(pages * PAGE_BYTES as f64);
            (vec!["pages"], format!("{bytes} of pages"))
        }));
        words.extend(word("returns").map(|lock| {
            let list = format!("zeroed pages put into a list under {lock}");
            (vec!["returns"], list)
        }));
        const TOLD: [&str; 9] = [
            "memory", "bytes", "kernel", "dequeue", "arrivals", "every_ns", "pages", "returns",
            "on",
        ];
        let others = self.params.iter().filter(|(key, _)| !TOLD.contains(key));
        words.extend(others.map(|(key, value)| (vec![*key], param_in_words(key, value))));
        words.extend(word("on").map(|on| (vec!["on"], format!("on {on}"))));
        words
    }
}

/// From the most that is zeroed per second of CPU time.
pub(crate) fn sort_by_gb(cells: &mut [&Cell]) {
    let gb = |cell: &Cell| cell.gb_per_cpu_s().median;
    cells.sort_by(|a, b| gb(b).total_cmp(&gb(a)));
}

fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct: Vec<&str> = Vec::new();
    for word in words {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    distinct
}
