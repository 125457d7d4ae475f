//! Zeroing pages: GB (1e9 bytes) per second of CPU time.
//!
//! Only what was zeroed by a known number of threads with a known take stands
//! here. Shares of waiting, and page faults per CPU, are something else.

use super::allocation::ZEROING_GB_PER_CPU_S;
use super::{Beside, Published, Source, ZeroPool, row};

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

pub(super) const ROWS: &[Published] = &[
    row(WINDOWS_10.0, WINDOWS_10.1, "its page-zeroing threads")
        .at(Beside::ZeroPool(ARTICLE))
        // 6.13 GiB in 162 s of CPU time.
        .gb_per_cpu_s(6.13 * 1.073_741_824 / 162.0)
        .note("6.13 GiB in more than 162 s of CPU time; 39 threads or more, of which 29 were busy on the average")
        .from(ZERO, 'C'),
    row(WINDOWS_10.0, WINDOWS_10.1, "its page-zeroing threads")
        .at(Beside::ZeroPool(ZeroPool {
            arrivals: "burst",
            ..ARTICLE
        }))
        .gb_per_cpu_s(8.6 / 60.287)
        .note("8.6 GB in 60.3 s of CPU time, woken every 2 s; how many of 39 threads or more worked is not known")
        .from(ZERO, 'C'),
    row("Windows 7", "", "its page-zeroing thread")
        .at(Beside::ZeroPool(ALONE))
        .gb_per_cpu_s(ZEROING_GB_PER_CPU_S)
        .note("150 us per MB, taken as 2^20 bytes")
        .from(ALLOCATION, 'C'),
    row("Linux", "AMD EPYC Milan", "clear_page, rep stosq, 4 KiB at a time")
        .at(Beside::ZeroPool(ZeroPool {
            kernel: Some("rep-stosb"),
            ..ALONE
        }))
        .gb_per_cpu_s(13.7)
        .note("one thread and no lock")
        .from(CLEAR_PAGES, 'C'),
];
