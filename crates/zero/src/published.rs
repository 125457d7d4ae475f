//! Published figures of zeroing pages: GB (1e9 bytes) per second of CPU time, and the cost of
//! allocations.
//!
//! They are read from `published.toml`, and what follows from them is computed here.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use punctual_record::Value;
use punctual_record::compare::Row;
use punctual_record::published::{Beside, Like, Published};
use serde::Deserialize;

use crate::rows::{GB_PER_CPU_S, PAGE_BYTES};

/// The file of figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figures {
    sources: BTreeMap<String, (String, u16)>,
    pub(crate) test: Test,
    pub(crate) trace: Trace,
    pub(crate) windows_11_waiting_percent: f64,
    pub(crate) hidden_costs: HiddenCosts,
    pool: Vec<Pool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Test {
    pub(crate) source: String,
    pub(crate) processes: u64,
    pub(crate) iterations: u64,
    pub(crate) zeroed_gib: f64,
    pub(crate) cpu_s: f64,
    pub(crate) cpus: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trace {
    pub(crate) s: f64,
    zeroed_gb: f64,
    pub(crate) cpu_s: f64,
    spinning_cpu_s: f64,
    pub(crate) system_cpu_s: f64,
    pub(crate) faults_s: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HiddenCosts {
    pub(crate) source: String,
    doubt: String,
    #[serde(flatten)]
    parts: BTreeMap<CostItem, HiddenCost>,
}

/// A part of what memory costs from the allocation to the end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HiddenCost {
    /// For a MB; of [`CostItem::Pair`], for a block of any size.
    pub(crate) us: f64,
    /// The process that was charged.
    pub(crate) payer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CostItem {
    /// `new[]` and `delete[]` alone.
    Pair,
    /// Page faults when it is first touched.
    Faults,
    /// Filling it with zeros.
    Zeroing,
    /// Giving it back.
    Unmap,
    /// All but the pair.
    Sum,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pool {
    os: String,
    #[serde(default)]
    machine: String,
    call: String,
    beside: ZeroPool,
    /// A number, or its name.
    gb_per_cpu_s: Value,
    note: String,
    source: String,
    confidence: char,
}

/// A pool of workers that zero memory that is in no cache, no more of them than CPUs;
/// `None` stands for any.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ZeroPool {
    threads: u64,
    batch: Option<String>,
    lock: Option<String>,
    kernel: Option<String>,
    arrivals: String,
}

static FILE: LazyLock<Value> = LazyLock::new(|| {
    toml::from_str(include_str!("published.toml")).expect("the tests read the same file")
});

/// The contents of the file.
pub(crate) static FIGURES: LazyLock<Figures> = LazyLock::new(|| {
    let figures = Figures::deserialize(&*FILE);
    figures.expect("the tests read the same file")
});

/// Every figure of pools.
pub static ROWS: LazyLock<Vec<Published>> = LazyLock::new(|| {
    let published = |pool: &'static Pool| {
        let (source, year) = &FIGURES.sources[&pool.source];
        let (note, rate) = (filled(&pool.note), pool.gb_per_cpu_s.as_f64());
        let rate = rate.or_else(|| number(pool.gb_per_cpu_s.as_str()?));
        let rate = rate.expect("a test reads all of them");
        Published {
            os: &pool.os,
            machine: &pool.machine,
            call: &pool.call,
            subjects: vec![],
            beside: Beside::Rows(&pool.beside),
            late: None,
            cpu_fraction: None,
            other: Some((GB_PER_CPU_S, rate)),
            note: note.leak(),
            source,
            year: Some(*year),
            confidence: pool.confidence,
        }
    };
    FIGURES.pool.iter().map(published).collect()
});

/// A number by its name: where it stands in the file, or what follows from that.
fn number(name: &str) -> Option<f64> {
    let (test, trace) = (&FIGURES.test, &FIGURES.trace);
    Some(match name {
        "test.wall_s" => test.wall_s(),
        "test.us_per_page" => test.us_per_page(),
        "test.zeroed_gib_per_cpu_s" => test.zeroed_gib / test.cpu_s,
        "test.zeroed_gb_per_cpu_s" => test.zeroed_gib * 1.073_741_824 / test.cpu_s,
        "trace.cpus" => trace.cpu_s / trace.s,
        "trace.spinning_percent" => 100.0 * trace.spinning_cpu_s / trace.cpu_s,
        "trace.us_per_page_besides" => (trace.cpu_s - trace.spinning_cpu_s) * 1e6 / trace.pages(),
        "trace.zeroed_gb_per_cpu_s" => trace.zeroed_gb / trace.cpu_s,
        "hidden_costs.zeroed_gb_per_cpu_s" => FIGURES.hidden_costs.zeroed_gb_per_cpu_s(),
        _ => FILE
            .pointer(&format!("/{}", name.replace('.', "/")))?
            .as_f64()?,
    })
}

/// That number as it is written: `trace.cpus:2` has two decimals.
pub(crate) fn written(place: &str) -> Option<String> {
    let Some((name, decimals)) = place.split_once(':') else {
        return Some(number(place)?.to_string());
    };
    Some(format!("{:.*}", decimals.parse().ok()?, number(name)?))
}

/// A text with the numbers that it names: `{trace.cpus:2}`.
pub(crate) fn filled(text: &str) -> String {
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.split_once('}');
        let number = number.and_then(|(place, rest)| Some(written(place)? + rest));
        filled += &number.unwrap_or_else(|| format!("{{{part}"));
    }
    filled
}

impl Test {
    /// The pages that were seen zeroed.
    pub(crate) fn pages(&self) -> u64 {
        (self.zeroed_gib * f64::from(1 << 30) / PAGE_BYTES as f64).round() as u64
    }

    /// Microseconds of CPU time for each of them.
    pub(crate) fn us_per_page(&self) -> f64 {
        self.cpu_s * 1e6 / self.pages() as f64
    }

    /// The bytes that are allocated in all.
    pub(crate) const fn bytes(&self) -> u64 {
        self.processes * self.iterations * PAGE_BYTES
    }

    /// GB (1e9 bytes) of them per second of CPU time.
    pub(crate) fn gb_per_cpu_s(&self) -> f64 {
        self.bytes() as f64 / 1e9 / self.cpu_s
    }

    /// How long it took, as follows from the CPU time and the CPUs.
    pub(crate) fn wall_s(&self) -> f64 {
        self.cpu_s / self.cpus
    }

    pub(crate) fn us_per_iteration(&self) -> f64 {
        self.wall_s() * 1e6 / self.iterations as f64
    }
}

impl Trace {
    pub(crate) fn pages(&self) -> f64 {
        self.zeroed_gb * 1e9 / PAGE_BYTES as f64
    }
}

impl HiddenCosts {
    /// The doubts about it.
    pub(crate) fn doubt(&self) -> String {
        filled(&self.doubt)
    }

    pub(crate) fn of(&self, part: CostItem) -> &HiddenCost {
        &self.parts[&part]
    }

    /// GB (1e9 bytes) that its thread zeroed per second of CPU time.
    pub(crate) fn zeroed_gb_per_cpu_s(&self) -> f64 {
        MB_BYTES as f64 / (self.of(CostItem::Zeroing).us * 1e3)
    }
}

/// The bytes of the article's MB.
pub(crate) const MB_BYTES: u64 = 1 << 20;

impl Like for ZeroPool {
    fn name(&self) -> &'static str {
        "zero-pool"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("threads", self.threads.into()),
            ("batch", self.batch.clone().into()),
            ("lock", self.lock.clone().into()),
            ("kernel", self.kernel.clone().into()),
            ("arrivals", self.arrivals.clone().into()),
        ]
    }

    /// More workers than CPUs show how the scheduler serves them, which is not published.
    fn is_it(&self, row: &Row) -> bool {
        let is = |key: &str, wanted: Option<&str>| {
            let word = row.params.get(key).and_then(Value::as_str);
            wanted.is_none_or(|wanted| word == Some(wanted))
        };
        let threads = row.params.get("threads").and_then(Value::as_u64);
        let memory = row.params.get("memory");
        let lock = |lock: &str| row.subjects.iter().any(|subject| subject == lock);
        row.experiment == "zero-pool"
            && threads == Some(self.threads)
            && self.lock.as_deref().is_none_or(lock)
            && memory.is_none_or(|memory| memory != "hot")
            && is("batch", self.batch.as_deref())
            && is("kernel", self.kernel.as_deref())
            && is("arrivals", Some(&self.arrivals))
            && !row.cells.iter().flatten().any(|cell| cell.oversubscribed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_record::Run;
    use punctual_record::compare::Comparison;

    use crate::rows::{PoolOf, ZeroRow, ZeroedPages, Zeroing};

    #[test]
    fn every_figure_has_its_source_and_is_there_once() {
        for (i, row) in ROWS.iter().enumerate() {
            assert!(row.source.len() > 10 && !row.os.is_empty() && !row.call.is_empty());
            assert!(('A'..='D').contains(&row.confidence));
            // No core zeroes more than its caches take.
            assert!(row.other.is_some_and(|(_, gb)| gb > 0.0 && gb < 410.0));
            assert!(!ROWS[..i].contains(row), "{} {}", row.os, row.call);
        }
    }

    /// The value, and what was published of each row.
    fn beside(rows: Vec<ZeroRow>) -> Vec<Vec<(&'static str, f64)>> {
        let run = Run::of(rows);
        let compared = Comparison::of(&[("a.json", &run)]).beside_published(true, &ROWS);
        let told = |place: &usize| {
            let figure = &compared.published[*place];
            Some((figure.os, figure.other?.1))
        };
        let rows = compared.rows.iter();
        rows.map(|row| row.published.iter().filter_map(told).collect())
            .collect()
    }

    fn pool(threads: u64, lock: &str, oversubscribed: bool) -> ZeroRow {
        let mut zeroing = Zeroing {
            oversubscribed,
            ..Zeroing::default()
        };
        zeroing.gb_per_cpu_s.median = 1.0;
        let pool = PoolOf {
            threads,
            batch: "1".to_owned(),
            memory: "cold".to_owned(),
            ..PoolOf::default()
        };
        ZeroRow::pool(lock, ZeroedPages::of(pool, zeroing))
    }

    #[test]
    fn it_stands_beside_the_same_pool_on_enough_cpus() {
        let others = vec![pool(39, "mcs", false), pool(38, "tas", false)];
        assert!(beside(others).iter().all(Vec::is_empty));
        assert!(beside(vec![pool(39, "tas", true)])[0].is_empty());
        let found = beside(vec![pool(39, "tas", false)]);
        assert_eq!(found[0].len(), 1);
        // The article rounds to 0.038 GiB.
        assert!((found[0][0].1 - 0.0406).abs() < 0.00005, "{found:?}");

        let alone = beside(vec![pool(1, "tas", false), pool(1, "mcs", false)]);
        let systems: Vec<&str> = alone.iter().flatten().map(|(os, _)| *os).collect();
        assert_eq!(systems, ["Windows 7"], "{alone:?}");
    }

    #[test]
    fn the_parts_make_the_sum() {
        use CostItem::{Faults, Pair, Sum, Unmap, Zeroing};
        let us = |part| FIGURES.hidden_costs.of(part).us;
        assert_eq!(us(Faults) + us(Zeroing) + us(Unmap), us(Sum));
        assert!(us(Pair) < us(Unmap));
    }

    #[test]
    fn the_test_is_of_6_104_gib_and_takes_about_7_us_a_page() {
        let test = &FIGURES.test;
        assert_eq!(test.bytes(), 6_553_600_000);
        let gib = test.bytes() as f64 / f64::from(1 << 30);
        assert_eq!((gib * 1e3).round(), 6_104.0);
        assert!((5.5..5.7).contains(&test.wall_s()));
        assert_eq!(test.us_per_iteration().round(), 7.0);
        assert!((0.040..0.041).contains(&test.gb_per_cpu_s()));
    }

    #[test]
    fn texts_name_numbers() {
        let text = "{trace.cpu_s:1} of {trace.cpu_s}, {test.iterations}, {trace.cpus:2}";
        assert_eq!(filled(text), "60.3 of 60.287, 800000, 3.99");
        for unknown in ["{trace.gib} {", "{test}", "{test.cpu_s:x}", "{}"] {
            assert_eq!(filled(unknown), unknown);
        }
        let texts = ROWS.iter().map(|row| row.note.to_owned());
        assert!(
            texts
                .chain([FIGURES.hidden_costs.doubt()])
                .all(|text| !text.contains('{'))
        );
    }
}
