//! The calibration of a computer that does not exist, for tests.

use punctual_record::Interval;

use crate::rows::{LineCost, TakeCost, ZeroCalibration, ZeroCost};

/// Two CPUs, and round numbers.
pub(super) fn calibration() -> ZeroCalibration {
    let take = |lock: &str, batch: &str, ns, timed_ns| TakeCost {
        lock: lock.to_owned(),
        batch: batch.to_owned(),
        take_ns: Interval::exactly(ns),
        timed_ns: Interval::exactly(timed_ns),
        ..TakeCost::default()
    };
    let zero = |memory: &str, workers, elsewhere, lock: Option<&str>, ns| ZeroCost {
        memory: memory.to_owned(),
        workers,
        elsewhere,
        lock: lock.map(str::to_owned),
        page_ns: Interval::exactly(ns),
        ..ZeroCost::default()
    };
    ZeroCalibration {
        rounds: 6,
        cpus: 2,
        hit_ns: Interval::exactly(1.0),
        rmw_ns: Interval::exactly(5.0),
        relax_ns: Interval::exactly(10.0),
        lines: vec![LineCost {
            from: 0,
            to: 1,
            read_ns: Interval::exactly(45.0),
            taken_ns: Interval::exactly(60.0),
            upgraded_ns: Interval::exactly(30.0),
            contended_ns: Interval::exactly(20.0),
        }],
        takes: vec![
            take("tas", "1", 20.0, 60.0),
            take("tas", "guided", 30.0, 70.0),
            take("counter", "1", 12.0, 52.0),
            take("counter", "guided", 16.0, 56.0),
        ],
        zeroing: vec![
            zero("hot", 1, false, None, 100.0),
            zero("hot", 2, false, None, 110.0),
            zero("hot", 2, true, None, 250.0),
            zero("hot", 1, false, Some("tas"), 130.0),
            zero("hot", 2, false, Some("tas"), 230.0),
            zero("cold", 1, false, None, 100.0),
            zero("cold", 2, false, None, 150.0),
            zero("cold", 2, true, None, 150.0),
        ],
        ..ZeroCalibration::default()
    }
}
