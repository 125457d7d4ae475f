//! macOS.

use super::Beside::Sleeps;
use super::Statistic::{Median, Range, Untold};
use super::{Published, SCHED, Source, row};

const M1_MAX: (&str, &str) = ("macOS 14.4.1", "M1 Max, performance core");
const VAYU: Source = ("github.com/athrvk/vayu#1667", None);

pub(super) const ROWS: &[Published] = &[
    row(M1_MAX.0, M1_MAX.1, "usleep(1000)")
        .same_as(&["usleep"])
        .at(Sleeps(1_000_000))
        .total(Range, 1_254_000, 1_270_000)
        .note("about 25 % high: latency tier 1")
        .from(SCHED, 'B'),
    row(M1_MAX.0, M1_MAX.1, "usleep(300)")
        .same_as(&["usleep"])
        .at(Sleeps(300_000))
        .total(Range, 380_000, 386_000)
        .note("about 25 % high: latency tier 1")
        .from(SCHED, 'B'),
    m3_pro(100_000, 17_000, "99th percentile 25 us"),
    m3_pro(500_000, 77_000, "99th percentile 107 us"),
    m3_pro(1_000_000, 136_000, "99th percentile 164 us"),
    m3_pro(2_000_000, 264_000, "99th percentile 299 us"),
    m3_pro(3_500_000, 453_000, "99th percentile 479 us"),
    m3_pro(5_000_000, 640_000, "99th percentile 671 us"),
    m3_pro(
        10_000_000,
        1_018_000,
        "about; 99th percentile about 1.05 ms; 10 to 100 ms are alike",
    ),
    m3_pro(
        100_000_000,
        1_018_000,
        "about; 99th percentile about 1.05 ms; 10 to 100 ms are alike",
    ),
    row("macOS", "M1", "sleep_for(1 ms)")
        .at(Sleeps(1_000_000))
        .total(Range, 1_150_000, 1_200_000)
        .from(("dosbox-staging#2655, on GitHub", None), 'C'),
    row("macOS", "M1", "sleep of 20 ms")
        .at(Sleeps(20_000_000))
        .late(Untold, 3_000_000, 3_000_000)
        .note("about")
        .from(("Ryujinx#5948, on GitHub", None), 'C'),
];

/// Medians of 400 waits; the threads had their precedence raised, and were not
/// real-time ones.
const fn m3_pro(asked_ns: u64, late_ns: i64, note: &'static str) -> Published {
    row(
        "macOS 26.7",
        "M3 Pro",
        "mach_wait_until, precedence raised, n = 400",
    )
    .same_as(&["mach_wait_until"])
    .at(Sleeps(asked_ns))
    .late(Median, late_ns, late_ns)
    .note(note)
    .from(VAYU, 'B')
}
