//! `adaptive` on Windows and macOS, where it was dearest before it sought ticks and shares.

use crate::yardsticks::others::{Over, Place};

/// The thirty dearest cells of a sweep over 96 rates and workloads on 29 models and conditions,
/// listed before anything was changed; cells that measure the same on another model are left out.
const DEAREST: [(&str, &str, f64); 30] = [
    ("windows-10-2004", "100", 10.0),
    ("windows-10-2004", "100", 100.0),
    ("macos,tier=2", "72", 100.0),
    (JITTERY_7, "986", 100.0),
    (JITTERY_7, "973", 100.0),
    ("macos,tier=2", "60", 100.0),
    (JITTERY_7, "999", 100.0),
    ("macos,tier=2", "59.94", 100.0),
    ("macos,tier=3", "115", 100.0),
    (JITTERY_7, "791", 100.0),
    ("windows-11", "284", 100.0),
    ("macos,tier=1", "72", 100.0),
    (JITTERY_10, "284", 10.0),
    (JITTERY_7, "960", 100.0),
    (JITTERY_7, "778", 100.0),
    (JITTERY_11, "37", 10.0),
    (JITTERY_11, "284", 10.0),
    (JITTERY_10, "284", 100.0),
    ("macos,tier=2", "76", 100.0),
    (JITTERY_7, "1000", 100.0),
    (JITTERY_11, "37", 100.0),
    (JITTERY_7, "947", 100.0),
    (JITTERY_7, "934", 100.0),
    (JITTERY_7, "921", 100.0),
    (JITTERY_7, "661", 100.0),
    ("windows-11", "37", 10.0),
    (JITTERY_7, "765", 100.0),
    ("macos,tier=2", "24", 100.0),
    ("windows-10-2004", "284", 100.0),
    (JITTERY_7, "908", 100.0),
];
const JITTERY_7: &str = "windows-7,wake=13us,jitter=13us";
const JITTERY_10: &str = "windows-10-2004,wake=13us,jitter=13us";
const JITTERY_11: &str = "windows-11,wake=13us,jitter=13us";
/// The simple strategies cost this much less at most.
const DEARER: f64 = 1.05;

/// Where a nap often ends a tick too early.
const EARLY: [(&str, &str, f64); 2] = [
    ("windows-7+1ms by another", "uniform", 100.0),
    ("windows-7+1ms by another", "log", 100.0),
];

#[test]
fn where_it_was_dearest_nothing_that_anybody_would_write_is_cheaper() {
    let over = |(place, workload, weight): (&'static str, &'static str, f64)| {
        let all = Place::parse(place).unwrap().over_others(workload, 3);
        let of_weight = |over: &Over| over.weight == weight;
        (
            place,
            workload,
            all.unwrap().into_iter().find(of_weight).unwrap(),
        )
    };
    let all = DEAREST.into_iter().chain(EARLY).map(over);
    let dearer: Vec<_> = all.filter(|(.., of)| of.over > DEARER).collect();
    assert!(dearer.is_empty(), "{dearer:#?}");
}
