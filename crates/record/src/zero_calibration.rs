//! What the parts of a zeroing pool cost on a computer, each measured alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::interval::Interval;
use crate::run::Run;

/// Where a Run keeps it, among its other fields.
const KEY: &str = "zero_calibration";

/// What a model of this computer is made of: micro-measurements, one mechanism
/// each, and none of a pool. Each is the median over rounds with its interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroCalibration {
    /// How often each was measured.
    pub rounds: u32,
    /// The CPUs there are for workers.
    pub cpus: usize,
    /// How pages are zeroed.
    pub kernel: String,
    /// Reading a cache line that the CPU has to itself.
    pub hit_ns: Interval,
    /// A read-modify-write of one.
    pub rmw_ns: Interval,
    /// One hint that a loop waits.
    pub relax_ns: Interval,
    /// Reading the clock that takes are timed by.
    pub clock_ns: Interval,
    /// What a line takes between CPUs, for each pair that was measured. Empty with
    /// one CPU.
    #[serde(default)]
    pub lines: Vec<LineCost>,
    /// How far apart two workers go on that waited for each other. `None` with one
    /// CPU.
    #[serde(default)]
    pub start_apart_ns: Option<Interval>,
    /// Giving up the CPU and being woken. `None` with one CPU.
    #[serde(default)]
    pub parking: Option<ParkingCost>,
    /// What it takes to take pages that nobody else wants, by lock and batch.
    pub takes: Vec<TakeCost>,
    /// What it takes to zero a page.
    pub zeroing: Vec<ZeroCost>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// What a cache line takes between two CPUs: the median of the faster half of the
/// samples, as whatever disturbs a transfer makes it slower.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineCost {
    /// One of them, counted in the order in which CPUs get workers.
    pub from: usize,
    /// The other.
    pub to: usize,
    /// Reading a line that the other wrote last.
    pub read_ns: Interval,
    /// A read-modify-write of one.
    pub taken_ns: Interval,
    /// A read-modify-write of one by who has just read it.
    pub upgraded_ns: Interval,
    /// For each read-modify-write where both do nothing else: less than a taking,
    /// because who has the line does several in a row.
    pub contended_ns: Interval,
}

/// What parking takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParkingCost {
    /// CPU time of waking somebody and giving up the CPU, together.
    pub cpu_ns: Interval,
    /// From the call that wakes somebody to the other running.
    pub turnaround_ns: Interval,
}

/// What a take costs that nobody else wants, with nothing else under way: getting
/// the lock, taking, giving it back, and what the loop of the worker does besides
/// zeroing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TakeCost {
    /// The lock.
    pub lock: String,
    /// The batch.
    pub batch: String,
    /// How pages are taken.
    pub dequeue: String,
    /// What a take costs.
    pub take_ns: Interval,
    /// What one costs that is timed.
    pub timed_ns: Interval,
    /// How many pages it took on average.
    pub pages: f64,
}

/// What zeroing a page costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ZeroCost {
    /// Where the pages were: `hot`, `warm` or `cold`.
    pub memory: String,
    /// The size of all of them.
    pub bytes: u64,
    /// How many CPUs zeroed at the same time, each its own pages.
    pub workers: usize,
    /// Whether the pages had last been written by another CPU.
    pub elsewhere: bool,
    /// The lock under which each was taken by itself; `None` where many were zeroed
    /// in one go. Right after a page a lock costs more than with nothing else under
    /// way: the stores to the page have to be done first.
    pub lock: Option<String>,
    /// By which share of that a single page costs more or less at most, were all costs
    /// in between equally likely: twice the median absolute deviation. Where many were
    /// zeroed in one go.
    #[serde(default)]
    pub jitter: Option<f64>,
    /// What each of them cost, with its take.
    pub page_ns: Interval,
}

impl ZeroCalibration {
    /// That of a Run; `None` if it has none, or none that can be read.
    pub fn of(run: &Run) -> Option<Self> {
        let value = run.other.get(KEY)?;
        serde_json::from_value(value.clone()).ok()
    }

    /// Puts it into a Run.
    pub fn put(&self, run: &mut Run) {
        let value = serde_json::to_value(self).expect("numbers and strings only");
        run.other.insert(KEY.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_it() {
        let calibration = ZeroCalibration {
            rounds: 3,
            lines: vec![LineCost {
                to: 1,
                ..LineCost::default()
            }],
            ..ZeroCalibration::default()
        };
        let mut run = Run {
            schema: crate::SCHEMA.to_owned(),
            ..Run::default()
        };
        assert_eq!(ZeroCalibration::of(&run), None);
        calibration.put(&mut run);
        let read = Run::from_json(&run.to_json()).unwrap();
        assert_eq!(ZeroCalibration::of(&read), Some(calibration));
    }
}
