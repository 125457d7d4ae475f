//! What is known of a wait that ended too late.

use std::collections::VecDeque;

use punctual_core::Nanos;
use punctual_os::cgroups::CpuQuota;
use punctual_os::meter::{Counts, Faults};
use punctual_os::processes::Ran;
use punctual_record::experiment::{self as record, Cause, RanMeanwhile};
use punctual_record::visible;

use crate::host::recorded;

/// A wait that ended later than the threshold, with what was counted between
/// the wake before it and its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hiccup {
    /// When the thread woke, counted from the beginning of the watch.
    pub woke: Nanos,
    /// How late that was.
    pub late: Nanos,
    /// How long the thread could run but waited for a CPU.
    pub queued: Option<Nanos>,
    /// How often it had to leave its CPU although it could have gone on.
    pub involuntary: Option<u64>,
    /// How often it left its CPU because it blocked.
    pub voluntary: Option<u64>,
    /// Pages it touched that were not there.
    pub faults: Option<Faults>,
    /// What the hypervisor took of its CPU around that time.
    pub stolen: Option<Stolen>,
    /// For how long a quota stopped its group around that time, and that quota.
    pub throttled: Option<(Nanos, CpuQuota)>,
    /// Other processes that ran on its CPU around that time, most first.
    pub others: Vec<Ran>,
    /// Whether punctual itself was stopped.
    pub own_stop: bool,
}

/// The time the hypervisor ran something else while a CPU had work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stolen {
    /// As counted, in steps of 10 ms.
    pub counted: Nanos,
    /// The time between the two readings of the counter.
    pub within: Nanos,
}

impl Hiccup {
    /// A wait that woke at `woke`, between two readings of its thread's counts.
    pub(super) fn between(woke: Nanos, late: Nanos, before: &Counts, after: &Counts) -> Self {
        let switches = before.switches.zip(after.switches);
        let faults = before.faults.zip(after.faults);
        Self {
            woke,
            late,
            queued: before.queued.zip(after.queued).map(|(b, a)| a - b),
            involuntary: switches.map(|(b, a)| a.involuntary.saturating_sub(b.involuntary)),
            voluntary: switches.map(|(b, a)| a.voluntary.saturating_sub(b.voluntary)),
            faults: faults.map(|(b, a)| Faults {
                minor: a.minor.saturating_sub(b.minor),
                major: a.major.saturating_sub(b.major),
            }),
            stolen: None,
            throttled: None,
            others: Vec::new(),
            own_stop: false,
        }
    }

    /// When it was to wake.
    pub(super) fn due(&self) -> Nanos {
        self.woke - self.late
    }

    /// The first cause whose counter covers at least half of the lateness: a quota,
    /// which also counts as waiting for a CPU, then
    /// waiting for one, which is counted to the nanosecond, before stolen
    /// time. That is counted in steps of 10 ms, so it says nothing of a lateness
    /// below half of a step.
    pub fn cause(&self) -> Cause {
        let covers = |counted: Nanos| counted.times(2) >= self.late;
        let covered = |stolen: Stolen| self.late >= HALF_A_STEP && covers(stolen.counted);
        if self.own_stop {
            Cause::OwnStop
        } else if self.throttled.is_some_and(|(time, _)| covers(time)) {
            Cause::Throttled
        } else if self.queued.is_some_and(covers) {
            Cause::Queued
        } else if self.stolen.is_some_and(covered) {
            Cause::Stolen
        } else {
            Cause::Unknown
        }
    }

    /// As a Run has it, without words, if it was at this time of day.
    pub fn told(&self, at: String) -> record::Hiccup {
        /// So many others are told of.
        const OTHERS: usize = 4;
        let other = |ran: &Ran| RanMeanwhile {
            name: visible(&ran.name).into_owned(),
            pid: ran.pid.into(),
            ran_ns: ran.time.as_ns(),
        };
        record::Hiccup {
            at,
            at_ns: self.woke.as_ns(),
            late_ns: self.late.as_ns(),
            queued_ns: self.queued.map(Nanos::as_ns),
            stolen_ns: self.stolen.map(|s| s.counted.as_ns()),
            stolen_within_ns: self.stolen.map(|s| s.within.as_ns()),
            throttled_ns: self.throttled.map(|(time, _)| time.as_ns()),
            quota: self.throttled.map(|(_, of)| recorded(of)),
            others: self.others.iter().take(OTHERS).map(other).collect(),
            involuntary: self.involuntary,
            voluntary: self.voluntary,
            minor_faults: self.faults.map(|f| f.minor),
            major_faults: self.faults.map(|f| f.major),
            cause: self.cause(),
            in_words: String::new(),
        }
    }
}

/// Of the counter of stolen time.
const HALF_A_STEP: Nanos = Nanos::from_ms(5);

/// How long after it happened stolen time is in the counter for certain: Linux
/// adds it at ticks, 10 ms apart at the most, and shows it in steps of 10 ms.
pub(super) const SETTLES: Nanos = Nanos::from_ms(20);

/// Readings of a counter of time, the oldest first. Times are counted from
/// the beginning of the watch.
#[derive(Debug, Default)]
pub(super) struct Readings {
    all: VecDeque<(Nanos, Nanos)>,
    first: Option<Nanos>,
}

impl Readings {
    /// At `at`, so much had been stolen since boot.
    pub(super) fn add(&mut self, at: Nanos, stolen: Nanos) {
        self.first.get_or_insert(stolen);
        self.all.push_back((at, stolen));
    }

    /// When the counter was read last; `None` where there is none.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.all.back().map(|(at, _)| *at)
    }

    /// What was stolen in all.
    pub(super) fn total(&self) -> Option<Nanos> {
        Some(self.all.back()?.1 - self.first?)
    }

    /// What was counted around the time from `due` to `woke`: from the last
    /// reading before it to the first after which nothing of it can be missing,
    /// or to the last one there is. `None` if nothing was read before it.
    pub(super) fn around(&self, due: Nanos, woke: Nanos) -> Option<Stolen> {
        let before = self.all.iter().rev().find(|(at, _)| *at <= due)?;
        let after = self.all.iter().find(|(at, _)| *at >= woke + SETTLES);
        let after = after.or(self.all.back())?;
        Some(Stolen {
            counted: after.1 - before.1,
            within: after.0 - before.0,
        })
    }

    /// Forgets what no hiccup can need that was due at `due` or later.
    pub(super) fn forget_before(&mut self, due: Nanos) {
        while self.all.get(1).is_some_and(|(at, _)| *at <= due) {
            self.all.pop_front();
        }
    }
}

#[cfg(test)]
impl Readings {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use punctual_os::thread::Switches;

    use super::*;

    fn hiccup(late_us: u64, queued_us: Option<u64>, stolen_ms: Option<u64>) -> Hiccup {
        let late = Nanos::from_us(late_us);
        let counts = |queued: Option<u64>, switches: u64| Counts {
            queued: queued.map(|us| Nanos::from_us(1_000 + us)),
            cpu: None,
            switches: Some(Switches {
                voluntary: 7 + switches,
                involuntary: 3,
            }),
            faults: None,
        };
        let before = counts(queued_us.map(|_| 0), 0);
        Hiccup {
            stolen: stolen_ms.map(|ms| Stolen {
                counted: Nanos::from_ms(ms),
                within: Nanos::from_ms(120),
            }),
            ..Hiccup::between(Nanos::from_ms(5), late, &before, &counts(queued_us, 1))
        }
    }

    #[test]
    fn a_cause_needs_a_counter_that_covers_half() {
        for (late, queued, stolen, cause) in [
            (1_000, Some(500), None, Cause::Queued),
            (1_000, Some(499), None, Cause::Unknown),
            (1_000, None, None, Cause::Unknown),
            (1_000, Some(0), Some(0), Cause::Unknown),
            (20_000, Some(0), Some(10), Cause::Stolen),
            (20_001, Some(0), Some(10), Cause::Unknown),
            (1_000, Some(900), Some(10), Cause::Queued),
            // What is less than half a step cannot be told from nothing.
            (5_000, None, Some(10), Cause::Stolen),
            (4_999, None, Some(10), Cause::Unknown),
            // Neither of two halves of a cause is one.
            (30_000, Some(14_000), Some(10), Cause::Unknown),
        ] {
            let hiccup = hiccup(late, queued, stolen);
            assert_eq!(hiccup.cause(), cause, "{hiccup:?}");
        }
    }

    fn ms(ms: u64) -> Nanos {
        Nanos::from_ms(ms)
    }

    fn readings() -> Readings {
        let mut readings = Readings::default();
        for (at, stolen) in [(0, 70), (100, 70), (200, 80), (300, 90)] {
            readings.add(ms(at), ms(stolen));
        }
        readings
    }

    #[test]
    fn stolen_time_is_that_between_the_nearest_readings() {
        for (due, woke, counted, within) in [
            (120, 130, 10, 100),
            (120, 185, 20, 200),
            (99, 101, 10, 200),
            // No reading is late enough yet.
            (290, 299, 10, 100),
        ] {
            let stolen = readings().around(ms(due), ms(woke)).unwrap();
            let seen = (stolen.counted, stolen.within);
            assert_eq!(seen, (ms(counted), ms(within)), "{due}..{woke}");
        }
        let mut late = Readings::default();
        assert_eq!(late.around(ms(1), ms(2)), None);
        late.add(ms(2), ms(70));
        assert_eq!(late.around(ms(1), ms(2)), None);
    }

    #[test]
    fn what_is_forgotten_changes_nothing_that_comes() {
        let mut readings = readings();
        let before = readings.around(ms(210), ms(230));
        readings.forget_before(ms(210));
        assert_eq!(readings.around(ms(210), ms(230)), before);
        assert_eq!(readings.len(), 2);
        assert_eq!(
            (readings.last(), readings.total()),
            (Some(ms(300)), Some(ms(20)))
        );
    }
}
