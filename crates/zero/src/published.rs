//! What others have published of zeroing pages: GB (1e9 bytes) per second of CPU
//! time, and what allocations cost.
//!
//! Only what was zeroed by a known number of threads with a known take stands
//! here. Shares of waiting, and page faults per CPU, are something else.

use punctual_record::Value;
use punctual_record::compare::Row;
use punctual_record::published::{Beside, Like, Published, Source, row};

use crate::rows::{GB_PER_CPU_S, PAGE_BYTES};

/// Its two versions differ in how they compare, not in what they measured.
const ZERO: Source = (
    "the page-zeroing article (Bruce Dawson, randomascii.wordpress.com)",
    Some(2022),
);
const ALLOCATION: Source = (
    "the article on hidden costs of allocation (Bruce Dawson, randomascii.wordpress.com)",
    Some(2014),
);
const CLEAR_PAGES: Source = (
    "Linux commit cb431accb36e, x86/clear_page: introduce clear_pages()",
    Some(2026),
);

const WINDOWS_10: (&str, &str) = ("Windows 10", "virtual machine, 96 CPUs");

/// A pool of workers that zero memory that is in no cache, no more of them than CPUs;
/// `None` stands for any.
#[derive(Clone, Copy, Debug)]
struct ZeroPool {
    threads: u64,
    batch: Option<&'static str>,
    lock: Option<&'static str>,
    kernel: Option<&'static str>,
    arrivals: &'static str,
}

/// One page at a time, the article's 39 threads or more, under a spin lock that
/// all of them try to take.
const ARTICLE: ZeroPool = ZeroPool {
    threads: 39,
    lock: Some("tas"),
    ..ALONE
};

/// One thread, which has nobody to wait for.
const ALONE: ZeroPool = ZeroPool {
    threads: 1,
    batch: Some("1"),
    lock: None,
    kernel: None,
    arrivals: "closed",
};

/// Every figure of pools.
pub const ROWS: &[Published] = &[
    row(WINDOWS_10.0, WINDOWS_10.1, "its page-zeroing threads")
        .at(Beside::Rows(&ARTICLE))
        // 6.13 GiB in 162 s of CPU time.
        .number(GB_PER_CPU_S, 6.13 * 1.073_741_824 / article::CPU_S)
        .note("6.13 GiB in more than 162 s of CPU time; 39 threads or more, of which 29 were busy on the average")
        .from(ZERO, 'C'),
    row(WINDOWS_10.0, WINDOWS_10.1, "its page-zeroing threads")
        .at(Beside::Rows(&ZeroPool {
            arrivals: "burst",
            ..ARTICLE
        }))
        .number(GB_PER_CPU_S, article::TRACE_BYTES / 1e9 / article::TRACE_CPU_S)
        .note("8.6 GB in 60.3 s of CPU time, woken every 2 s; how many of 39 threads or more worked is not known")
        .from(ZERO, 'C'),
    row("Windows 7", "", "its page-zeroing thread")
        .at(Beside::Rows(&ALONE))
        .number(GB_PER_CPU_S, ZEROING_GB_PER_CPU_S)
        .note("150 us per MB, taken as 2^20 bytes")
        .from(ALLOCATION, 'C'),
    row("Linux", "AMD EPYC Milan", "clear_page, rep stosq, 4 KiB at a time")
        .at(Beside::Rows(&ZeroPool {
            kernel: Some("rep-stosb"),
            ..ALONE
        }))
        .number(GB_PER_CPU_S, 13.7)
        .note("one thread and no lock")
        .from(CLEAR_PAGES, 'C'),
];

impl Like for ZeroPool {
    fn name(&self) -> &'static str {
        "zero-pool"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("threads", self.threads.into()),
            ("batch", self.batch.into()),
            ("lock", self.lock.into()),
            ("kernel", self.kernel.into()),
            ("arrivals", self.arrivals.into()),
        ]
    }

    /// More workers than CPUs show how the
    /// scheduler serves them, which nobody has published.
    fn is_it(&self, row: &Row) -> bool {
        let is = |key: &str, wanted: Option<&str>| {
            let word = row.params.get(key).and_then(Value::as_str);
            wanted.is_none_or(|wanted| word == Some(wanted))
        };
        let threads = row.params.get("threads").and_then(Value::as_u64);
        let lock = |lock: &str| row.subjects.iter().any(|subject| subject == lock);
        row.experiment == "zero-pool"
            && threads == Some(self.threads)
            && self.lock.is_none_or(lock)
            && row
                .params
                .get("memory")
                .is_none_or(|memory| memory != "hot")
            && is("batch", self.batch)
            && is("kernel", self.kernel)
            && is("arrivals", Some(self.arrivals))
            && !row.cells.iter().flatten().any(|cell| cell.oversubscribed)
    }
}

/// The bytes of the article's MB.
pub const MB_BYTES: u64 = 1 << 20;

/// GB (1e9 bytes) that its thread zeroed per second of CPU time.
pub const ZEROING_GB_PER_CPU_S: f64 = MB_BYTES as f64 / (ZEROING_US * 1e3);

/// What that follows from: microseconds for a MB.
const ZEROING_US: f64 = 150.0;

/// A part of what memory costs from the allocation to the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenCost {
    /// Which part.
    pub part: CostItem,
    /// Microseconds for a MB; of [`CostItem::Pair`], for a block of any size.
    pub us: f64,
    /// Who was charged.
    pub payer: &'static str,
}

/// A part of what memory costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostItem {
    /// `new[]` and `delete[]` alone, for blocks of 8 to 32 MB: 5.0 and 2.5 us,
    /// whatever the size.
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

/// The parts, on Windows 7, one thread.
pub const HIDDEN_COSTS: [HiddenCost; 5] = [
    cost(CostItem::Pair, 7.5, "the caller"),
    cost(CostItem::Faults, 175.0, "the caller"),
    cost(CostItem::Zeroing, ZEROING_US, "the System process"),
    cost(CostItem::Unmap, 75.0, "the caller"),
    cost(CostItem::Sum, 400.0, ""),
];

/// Where these are from.
pub const HIDDEN_COSTS_SOURCE: &str = "\"Hidden Costs of Memory Allocation\" (Bruce Dawson, randomascii.wordpress.com, \
                                       2014), Windows 7 or of its time, one thread";

/// What is not sure about them: two were not looked up again in the article of
/// 2014. Their ratio is what the one of 2022 reckons with: 13.7 % of a core for
/// zeroing beside 16 % for faults.
pub const HIDDEN_COSTS_DOUBT: &str = "Of the published us, 175 and 150 were not looked up again; their ratio is that \
                                      of the page-zeroing article's 16 and 13.7 % of a core.";

/// What the page-zeroing article, in its version of July 2022, says of Windows 10 in a virtual
/// machine with 96 CPUs: of two processes that allocate, fill and free one page, over and
/// over, and of its first trace.
pub mod article {
    use crate::rows::PAGE_BYTES;

    /// Processes at once.
    pub const PROCESSES: u64 = 2;
    /// What each of them does.
    pub const ITERATIONS: u64 = 800_000;
    /// CPU seconds of the System process meanwhile: `more than`.
    pub const CPU_S: f64 = 162.0;
    /// CPUs that the System process kept busy.
    pub const CPUS: f64 = 29.0;
    /// The bytes that are allocated in all.
    pub const BYTES: u64 = PROCESSES * ITERATIONS * PAGE_BYTES;
    /// How long it took, as follows from the CPU time and the CPUs.
    pub const WALL_S: f64 = CPU_S / CPUS;
    /// Microseconds of an iteration, as follows from that.
    pub const US_PER_ITERATION: f64 = WALL_S * 1e6 / ITERATIONS as f64;
    /// GB (1e9 bytes) per second of the CPU time of the System process.
    pub const GB_PER_CPU_S: f64 = BYTES as f64 / 1e9 / CPU_S;
    /// How long its first trace is, in seconds.
    pub const TRACE_S: f64 = 15.1;
    /// What was zeroed in that.
    pub const TRACE_BYTES: f64 = 8.6e9;
    /// The CPU seconds of zeroing it.
    pub const TRACE_CPU_S: f64 = 60.287;
    /// Those of the whole System process.
    pub const TRACE_SYSTEM_CPU_S: f64 = 92.445;
    /// The seconds that the program spent in page faults.
    pub const TRACE_FAULTS_S: f64 = 2.422;
    /// The share of the CPU seconds of zeroing that was spent spinning.
    pub const WAITING: f64 = 51.967 / TRACE_CPU_S;
    /// The share of the CPU time of zeroing that the twelve or so threads of a
    /// computer with Windows 11 spent in spin locks: `about`.
    pub const WINDOWS_11_WAITING: f64 = 0.8;
}

/// Where that is from.
pub const ZEROPAGE_TEST_SOURCE: &str = "\"Slower Memory Zeroing Through Parallelism\" (Bruce Dawson, \
                                        randomascii.wordpress.com, 2022), Windows 10, 96 CPUs; its program is \
                                        github.com/randomascii/blogstuff, zeropage_test";

impl HiddenCost {
    /// Of one part.
    pub fn of(part: CostItem) -> Self {
        let found = HIDDEN_COSTS.into_iter().find(|cost| cost.part == part);
        found.expect("every part is there")
    }

    /// Microseconds for a page of 4 KiB; `None` for what is one sum for a block.
    pub fn us_per_page(self) -> Option<f64> {
        let pages = (MB_BYTES / PAGE_BYTES) as f64;
        (self.part != CostItem::Pair).then_some(self.us / pages)
    }
}

const fn cost(part: CostItem, us: f64, payer: &'static str) -> HiddenCost {
    HiddenCost { part, us, payer }
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
        let compared = Comparison::of(&[("a.json", &run)]).beside_published(true, ROWS);
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
        let us = |part| HiddenCost::of(part).us;
        assert_eq!(
            us(CostItem::Faults) + us(CostItem::Zeroing) + us(CostItem::Unmap),
            us(CostItem::Sum)
        );
        let pages = HIDDEN_COSTS.map(|cost| cost.us_per_page().map(|us| (us * 100.0).round()));
        assert_eq!(
            pages,
            [None, Some(68.0), Some(59.0), Some(29.0), Some(156.0)]
        );
        // Bytes in nanoseconds are GB in a second.
        let page_ns = HiddenCost::of(CostItem::Zeroing).us_per_page().unwrap() * 1e3;
        let gb_per_cpu_s = PAGE_BYTES as f64 / page_ns;
        assert!((gb_per_cpu_s - ZEROING_GB_PER_CPU_S).abs() < 1e-12);
    }

    #[test]
    fn the_test_is_of_6_104_gib_and_takes_about_7_us_a_page() {
        assert_eq!(article::BYTES, 6_553_600_000);
        let gib = article::BYTES as f64 / f64::from(1 << 30);
        assert_eq!((gib * 1e3).round(), 6_104.0);
        assert!((5.5..5.7).contains(&article::WALL_S));
        assert_eq!(article::US_PER_ITERATION.round(), 7.0);
        assert!((0.040..0.041).contains(&article::GB_PER_CPU_S));
    }
}
