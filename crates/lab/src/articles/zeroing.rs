//! The page-zeroing article.

use super::{Article, Check, plain, row};

/// The load of the first trace.
const TRACE: &str = "zero simulate --load browser-trace";

/// The story of the worst case, with what each proposal brings.
const STORY: &str = "zero simulate article";

pub(super) const ARTICLE: Article = Article {
    name: "zeroing",
    title: "the page-zeroing article (Bruce Dawson, 2022)",
    about: "Windows fills freed pages with zeros before it gives them out again. On 96 CPUs some 39 threads did that, one \
            page at a time under one spin lock, and waited for the lock most of the time.",
    claims: &[
        row(
            "Page faults and zeroing, of one CPU",
            "16 %, 13.7 %",
            ("Z08", ""),
            TRACE,
        ),
        row(
            "CPUs used, over the 0.28 expected",
            "14.3 times",
            ("Z07", ""),
            TRACE,
        ),
        row(
            "Zeroing 8.6 GB in 15.1 s",
            "60.3 CPU-s, 4 CPUs",
            ("Z04", ""),
            TRACE,
        ),
        row(
            "... of that acquiring a spin lock",
            "86.2 %",
            ("Z05", ""),
            TRACE,
        ),
        row(
            "... of the CPU time of System",
            "65.2 %",
            ("Z06", ""),
            "zero simulate --validate Z06",
        ),
        row(
            "A page in 76 ns, by all CPUs together",
            "more than 50 GB/s",
            ("Z20", ""),
            "zero simulate --validate Z20",
        ),
        row(
            "A hand-off of the lock's cache line",
            "0.74 to 2.6 us",
            ("Z24", ""),
            "zero simulate --validate Z24",
        ),
        row(
            "Waiting with packets of N x the lock",
            "the edge",
            ("Z23", ""),
            "zero simulate --on cascade-lake-96,bandwidth=1000 --threads 39 --lock tas,mcs --batch 1,25,50",
        ),
        row(
            "zeropage_test: CPUs of System",
            "29",
            ("Z09", ""),
            "zero simulate --load zeropage-test",
        ),
        row(
            "... over those of the test",
            "about 10",
            ("Z10", ""),
            "zero simulate --validate Z10",
        ),
        row("Worst case: 6.13 GiB", "162 CPU-s", ("Z01", ""), STORY),
        row("... as a rate", "0.038 GiB/CPU-s", ("Z02", ""), STORY),
        row(
            "... over the old serial zeroing",
            "150 times",
            ("Z11", ""),
            STORY,
        ),
        row("... in a later edition", "24 times", ("Z12", ""), STORY),
        row(
            "A build frees enough for 25 % of 96 CPUs",
            "not stated",
            ("Z16", ""),
            "zero simulate --load browser-build",
        ),
        row(
            "Windows 10 on 128 CPUs",
            "the same",
            ("Z15", ""),
            "zero simulate --validate Z15",
        ),
        row(
            "Windows 11: 12 threads, a queued lock",
            "80 % waiting",
            ("Z13", ""),
            STORY,
        ),
        row(
            "Windows Server 2022 on 128 CPUs",
            "no fix",
            ("Z14", ""),
            STORY,
        ),
        row(
            "A desktop with 1 and 2 threads",
            "not noticeable",
            ("Z18", ""),
            "zero simulate --validate Z18",
        ),
        plain(
            "Fixes: fewer threads, more work per acquisition, no spin locks, all of these",
            STORY,
            Check::Shown,
        ),
        plain(
            "Freed blocks of 2 GiB are zeroed again; how often the disk benchmark freed one is not published",
            "zero simulate --load freed-blocks",
            Check::Shown,
        ),
        plain(
            "An emptied standby list is zeroed too; how much it held is not published",
            "zero simulate --load standby-list --size 8GiB",
            Check::Shown,
        ),
        plain(
            "First advice to programs: reuse memory blocks. Blocks of 4 KiB to 2 GiB, fresh and used again",
            "zero probe blocks",
            Check::Here,
        ),
        plain(
            "A pool of workers on this computer: threads, lock, batch",
            "zero run",
            Check::Here,
        ),
    ],
};
