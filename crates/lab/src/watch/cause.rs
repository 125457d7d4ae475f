//! The cause of a late wait.

use std::collections::VecDeque;

use punctual_core::Nanos;
use punctual_os::meter::Counts;
use punctual_os::processes::Ran;
use punctual_record::experiment::{Cause, Hiccup, RanMeanwhile};
use punctual_record::visible;

/// A wait that woke at `woke`, between two readings of its thread's counts.
pub(super) fn between(woke: Nanos, late: Nanos, before: &Counts, after: &Counts) -> Hiccup {
    let queued = before.queued.zip(after.queued);
    let switches = before.switches.zip(after.switches);
    let faults = before.faults.zip(after.faults);
    Hiccup {
        at_ns: woke.as_ns(),
        late_ns: late.as_ns(),
        queued_ns: queued.map(|(b, a)| (a - b).as_ns()),
        involuntary: switches.map(|(b, a)| a.involuntary.saturating_sub(b.involuntary)),
        voluntary: switches.map(|(b, a)| a.voluntary.saturating_sub(b.voluntary)),
        minor_faults: faults.map(|(b, a)| a.minor.saturating_sub(b.minor)),
        major_faults: faults.map(|(b, a)| a.major.saturating_sub(b.major)),
        ..Hiccup::default()
    }
}

/// When it was to wake.
pub(super) fn due(hiccup: &Hiccup) -> Nanos {
    Nanos::new(hiccup.at_ns) - Nanos::new(hiccup.late_ns)
}

/// The first cause whose counter covers at least half of the lateness. The order is: a quota,
/// waiting for a CPU, which is counted to the nanosecond, and stolen time. That is counted in
/// steps of 10 ms, so it says nothing about a lateness below half of a step. A throttled thread
/// waits for a CPU too. If that wait is known to be shorter, the quota throttled the group at
/// another time between the readings.
pub(super) fn cause(hiccup: &Hiccup) -> Cause {
    let covers = |ns: Option<u64>| ns.is_some_and(|ns| ns.saturating_mul(2) >= hiccup.late_ns);
    if covers(hiccup.throttled_ns) && (hiccup.queued_ns.is_none() || covers(hiccup.queued_ns)) {
        Cause::Throttled
    } else if covers(hiccup.queued_ns) {
        Cause::Queued
    } else if hiccup.late_ns >= HALF_A_STEP.as_ns() && covers(hiccup.stolen_ns) {
        Cause::Stolen
    } else {
        Cause::Unknown
    }
}

/// Adds who ran meanwhile, to those that are known.
pub(super) fn ran(hiccup: &mut Hiccup, ran: &Ran) {
    let pid = u64::from(ran.pid);
    match hiccup.others.iter_mut().find(|other| other.pid == pid) {
        Some(other) => other.ran_ns += ran.time.as_ns(),
        None => hiccup.others.push(RanMeanwhile {
            name: visible(&ran.name).into_owned(),
            pid,
            ran_ns: ran.time.as_ns(),
        }),
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
    first: Option<(Nanos, Nanos)>,
    /// Whether the counter fell.
    has_fallen: bool,
}

/// Whether a CPU can have lost so much in that time, and in the steps of the counter.
pub(super) fn is_possible((counted, within): (Nanos, Nanos)) -> bool {
    counted <= within + SETTLES
}

impl Readings {
    /// At `at`, so much had been stolen since boot.
    pub(super) fn add(&mut self, at: Nanos, stolen: Nanos) {
        self.first.get_or_insert((at, stolen));
        self.has_fallen |= self.all.back().is_some_and(|(_, last)| stolen < *last);
        self.all.push_back((at, stolen));
    }

    /// When the counter was read last; `None` where there is none.
    pub(super) fn last(&self) -> Option<Nanos> {
        self.all.back().map(|(at, _)| *at)
    }

    /// The total count, and the time of counting.
    pub(super) fn total(&self) -> Option<(Nanos, Nanos)> {
        let ((began, first), (at, last)) = (self.first?, *self.all.back()?);
        Some((last - first, at - began))
    }

    /// Whether the counter fell, so that nothing of it can be believed.
    pub(super) fn has_fallen(&self) -> bool {
        self.has_fallen
    }

    /// The count around the time from `due` to `woke`, and the time it covers. It is from the last
    /// reading before it to the first that contains all of it, or to the last one. `None` without
    /// a reading before it.
    pub(super) fn around(&self, due: Nanos, woke: Nanos) -> Option<(Nanos, Nanos)> {
        let before = self.all.iter().rev().find(|(at, _)| *at <= due)?;
        let after = self.all.iter().find(|(at, _)| *at >= woke + SETTLES);
        let after = after.or(self.all.back())?;
        Some((after.1 - before.1, after.0 - before.0))
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
    use super::*;

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
            // Less than half a step cannot be told from nothing.
            (5_000, None, Some(10), Cause::Stolen),
            (4_999, None, Some(10), Cause::Unknown),
            // Neither of two halves of a cause is one.
            (30_000, Some(14_000), Some(10), Cause::Unknown),
        ] {
            let hiccup = Hiccup {
                late_ns: late * 1_000,
                queued_ns: queued.map(|us: u64| us * 1_000),
                stolen_ns: stolen.map(|ms: u64| ms * 1_000_000),
                ..Hiccup::default()
            };
            assert_eq!(super::cause(&hiccup), cause, "{hiccup:?}");
        }
    }

    #[test]
    fn a_quota_that_stopped_the_group_at_another_time_is_no_cause() {
        for (queued_us, cause) in [
            (Some(600), Cause::Throttled),
            (Some(3), Cause::Unknown),
            (None, Cause::Throttled),
        ] {
            let hiccup = Hiccup {
                late_ns: 600_000,
                throttled_ns: Some(80_000_000),
                queued_ns: queued_us.map(|us: u64| us * 1_000),
                ..Hiccup::default()
            };
            assert_eq!(super::cause(&hiccup), cause, "{hiccup:?}");
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
            let seen = readings().around(ms(due), ms(woke)).unwrap();
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
            (Some(ms(300)), Some((ms(20), ms(300))))
        );
    }

    #[test]
    fn a_counter_that_falls_or_outruns_the_time_is_not_possible() {
        assert!(is_possible((ms(120), ms(100))));
        assert!(!is_possible((ms(1_800), ms(218))));
        let mut readings = readings();
        assert!(!readings.has_fallen());
        readings.add(ms(400), ms(5));
        assert!(readings.has_fallen());
    }
}
