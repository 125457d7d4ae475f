//! What others have published of zeroing pages: GB (1e9 bytes) per second of CPU
//! time, and what allocations cost.
//!
//! Only what was zeroed by a known number of threads with a known take stands
//! here. Shares of waiting, and page faults per CPU, are something else.

pub mod allocation;

use allocation::ZEROING_GB_PER_CPU_S;
use punctual_record::Value;
use punctual_record::compare::Row;
use punctual_record::published::{Beside, Like, Published, Source, row};

use crate::rows::GB_PER_CPU_S;

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
    batch: Some("1"),
    lock: Some("tas"),
    kernel: None,
    arrivals: "closed",
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
        .number(GB_PER_CPU_S, 6.13 * 1.073_741_824 / 162.0)
        .note("6.13 GiB in more than 162 s of CPU time; 39 threads or more, of which 29 were busy on the average")
        .from(ZERO, 'C'),
    row(WINDOWS_10.0, WINDOWS_10.1, "its page-zeroing threads")
        .at(Beside::Rows(&ZeroPool {
            arrivals: "burst",
            ..ARTICLE
        }))
        .number(GB_PER_CPU_S, 8.6 / 60.287)
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

#[cfg(test)]
mod tests {
    use punctual_record::Run;
    use punctual_record::compare::Comparison;

    use super::*;
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
        let run = Run {
            results: rows,
            ..Run::default()
        };
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
        let zeroed = ZeroedPages {
            pool,
            zero: zeroing,
            ..ZeroedPages::default()
        };
        ZeroRow::pool(lock, zeroed)
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
}
