//! The costs of the parts of a zeroing pool on a computer, each measured alone.

use std::collections::BTreeMap;

use punctual_record::{Interval, Value};
use serde::{Deserialize, Serialize};

/// The measurements behind a model of this computer: one mechanism each, and none of a pool. Each
/// is the median over rounds with its interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The time of a line between CPUs, for each measured pair. Empty with one CPU.
    #[serde(default)]
    pub lines: Vec<LineCost>,
    /// How far apart two workers go on that waited for each other. `None` with one
    /// CPU.
    #[serde(default)]
    pub start_apart_ns: Option<Interval>,
    /// Giving up the CPU and being woken. `None` with one CPU.
    #[serde(default)]
    pub parking: Option<ParkingCost>,
    /// The cost of an uncontended take, by lock and batch.
    pub takes: Vec<TakeCost>,
    /// The cost of zeroing a page.
    pub zeroing: Vec<ZeroCost>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The time a cache line takes between two CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The cost of parking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ParkingCost {
    /// CPU time of waking another thread and giving up the CPU, together.
    pub cpu_ns: Interval,
    /// From the call that wakes another thread to that thread running.
    pub turnaround_ns: Interval,
}

/// The cost of an uncontended take with nothing else under way: getting the lock, taking, giving
/// it back, and the worker's loop besides zeroing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TakeCost {
    /// The lock.
    pub lock: String,
    /// The batch.
    pub batch: String,
    /// How pages are taken.
    pub dequeue: String,
    /// The cost of a take.
    pub take_ns: Interval,
    /// The cost of a take that is timed.
    pub timed_ns: Interval,
    /// How many pages it took on average.
    pub pages: f64,
}

/// The cost of zeroing a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The share by which the cost of a single page deviates at most, if costs were uniformly
    /// distributed: twice the median absolute deviation. Where many were zeroed in one go.
    #[serde(default)]
    pub jitter: Option<f64>,
    /// The cost of a page until its stores are done, for any earlier writer. Each page is timed
    /// alone, by a clock that waits for the stores, less the cost of that clock. Where many were
    /// zeroed in one go.
    #[serde(default)]
    pub settled_ns: Option<Interval>,
    /// The cost of each page, with its take.
    pub page_ns: Interval,
}

impl ZeroCalibration {
    /// One use of a cache line: the median over the pairs of CPUs, and over the ends
    /// of their intervals. `None` with one CPU.
    pub fn line(&self, of: fn(&LineCost) -> Interval) -> Option<Interval> {
        let middle = |end: fn(Interval) -> f64| {
            let all: Vec<f64> = self.lines.iter().map(|line| end(of(line))).collect();
            Some(Interval::of(&all)?.median)
        };
        Some(Interval {
            median: middle(|i| i.median)?,
            low: middle(|i| i.low)?,
            high: middle(|i| i.high)?,
        })
    }

    /// A page of many that so many workers zeroed in one go.
    pub fn page(&self, memory: &str, workers: usize, elsewhere: bool) -> Option<&ZeroCost> {
        self.zero_cost(memory, workers, elsewhere, None)
    }

    /// The mean time of such a page, in nanoseconds, if so many workers all zero pages of every
    /// worker in equal parts.
    pub fn mixed_page_ns(&self, memory: &str, workers: usize) -> Option<f64> {
        let here = self.page(memory, workers, false)?.page_ns.median;
        let elsewhere = self.page(memory, workers, true);
        let elsewhere = elsewhere.map_or(here, |cost| cost.page_ns.median);
        let own = 1.0 / workers as f64;
        Some(here * own + elsewhere * (1.0 - own))
    }

    /// The cost of a take right after a page, under an uncontended lock, with so many workers at
    /// work. It is the extra cost of a page that is taken alone.
    pub fn take_after_page(&self, memory: &str, lock: &str, workers: usize) -> Option<Interval> {
        let under = self.zero_cost(memory, workers, false, Some(lock))?.page_ns;
        let page_ns = self.mixed_page_ns(memory, workers)?;
        Some(under.map(|ns| ns - page_ns))
    }

    /// How long the stores to a page are still on their way after zeroing, if something waits for
    /// them, with so many workers at work.
    pub fn stores_ns(&self, memory: &str, workers: usize) -> Option<Interval> {
        let settled = self.page(memory, workers, false)?.settled_ns?;
        let page_ns = self.mixed_page_ns(memory, workers)?;
        Some(settled.map(|ns| ns - page_ns))
    }

    fn zero_cost(
        &self,
        memory: &str,
        workers: usize,
        elsewhere: bool,
        lock: Option<&str>,
    ) -> Option<&ZeroCost> {
        self.zeroing.iter().find(|cost| {
            cost.memory == memory
                && cost.workers == workers
                && cost.elsewhere == elsewhere
                && cost.lock.as_deref() == lock
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(median: f64) -> Interval {
        Interval {
            median,
            low: median - 1.0,
            high: median + 1.0,
        }
    }

    #[test]
    fn a_line_is_the_median_over_the_pairs() {
        let line = |taken| LineCost {
            taken_ns: only(taken),
            ..LineCost::default()
        };
        let calibration = ZeroCalibration {
            lines: vec![line(100.0), line(60.0), line(70.0)],
            ..ZeroCalibration::default()
        };
        assert_eq!(calibration.line(|line| line.taken_ns), Some(only(70.0)));
        assert_eq!(ZeroCalibration::default().line(|line| line.taken_ns), None);
    }

    #[test]
    fn a_take_after_a_page_is_what_is_above_a_page_of_many() {
        let cost = |workers, elsewhere, lock: Option<&str>, ns| ZeroCost {
            memory: "hot".to_owned(),
            workers,
            elsewhere,
            lock: lock.map(str::to_owned),
            page_ns: only(ns),
            ..ZeroCost::default()
        };
        let mut calibration = ZeroCalibration {
            zeroing: vec![
                cost(1, false, None, 100.0),
                cost(1, false, Some("tas"), 130.0),
                cost(4, false, None, 120.0),
                cost(4, true, None, 240.0),
                cost(4, false, Some("tas"), 250.0),
            ],
            ..ZeroCalibration::default()
        };
        let after = |lock, workers| calibration.take_after_page("hot", lock, workers);
        assert_eq!(after("tas", 1), Some(only(30.0)));
        // One page in four is the worker's own.
        assert_eq!(calibration.mixed_page_ns("hot", 4), Some(210.0));
        assert_eq!(after("tas", 4), Some(only(40.0)));
        assert_eq!(after("mcs", 4), None);
        assert_eq!(calibration.mixed_page_ns("cold", 1), None);
        assert_eq!(calibration.stores_ns("hot", 4), None);
        calibration.zeroing[2].settled_ns = Some(only(300.0));
        assert_eq!(calibration.stores_ns("hot", 4), Some(only(90.0)));
    }
}
